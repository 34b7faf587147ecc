"""src/stiffly/view/page/thumbnails/*.jpg: the scenes of the gallery, small enough to be shipped."""

from pathlib import Path

from PIL import Image

from stiffly.view import FLAT

SIZE, QUALITY = (240, 160), 60  # shown half as large
SCENES = Path(__file__).with_name("scenes")
OUT = Path(__file__).parents[2] / "src" / "stiffly" / "view" / "page" / "thumbnails"

if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for path in sorted(path for path in SCENES.glob("*.png") if path.stem not in FLAT):
        picture = Image.open(path).convert("RGB")
        scale = max(SIZE[0] / picture.width, SIZE[1] / picture.height)
        picture = picture.resize(
            (round(scale * picture.width), round(scale * picture.height)), Image.Resampling.LANCZOS
        )
        left, top = (picture.width - SIZE[0]) // 2, (picture.height - SIZE[1]) // 2
        picture = picture.crop((left, top, left + SIZE[0], top + SIZE[1]))
        picture.save(OUT / f"{path.stem}.jpg", quality=QUALITY, optimize=True)
