"""The page of html exports: {{title}} and {{data}} are filled in by html.py."""

PLAYER = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{title}}</title>
<style>
html,body{margin:0;height:100%;background:#f4f5f7;font:13px system-ui,sans-serif;color:#222}
body{display:flex;flex-direction:column}
canvas{flex:1;min-height:0;width:100%;touch-action:none;cursor:grab}
div{display:flex;gap:.6em;align-items:center;padding:.4em .7em;background:#fff}
input{flex:1}button{width:4.5em}
</style></head><body>
<canvas></canvas>
<div><button>pause</button><input type="range" min="0" max="1000" value="0" aria-label="time">
<span id="clock"></span><span>{{title}}</span></div>
<script>
"use strict";
const D = {{data}};
const bytes = s => Uint8Array.from(atob(s), c => c.charCodeAt(0));
const canvas = document.querySelector("canvas"), slider = document.querySelector("input");
const button = document.querySelector("button"), clock = document.querySelector("#clock");
const gl = canvas.getContext("webgl2", {antialias: true, preserveDrawingBuffer: true});
if (!gl) { clock.textContent = "this browser has no WebGL 2"; throw new Error("no WebGL 2"); }
function program(vertex, fragment) {
  const p = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const s = gl.createShader(kind);
    gl.shaderSource(s, "#version 300 es\\nprecision highp float;\\n" + text);
    gl.compileShader(s);
    if (!gl.getShaderParameter(s, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(s));
    gl.attachShader(p, s);
  }
  gl.bindAttribLocation(p, 0, "a"); gl.bindAttribLocation(p, 1, "b");
  gl.bindAttribLocation(p, 2, "color");
  gl.linkProgram(p);
  return p;
}
const P = program(
  `in vec3 a, b; in vec3 color; uniform vec3 low, size; uniform float mixed, dot;
   uniform mat4 view, pose; out vec3 place, tint;
   void main() { vec4 x = pose * vec4(low + size * mix(a, b, mixed), 1.0);
     place = x.xyz; tint = color; gl_Position = view * x; gl_PointSize = dot; }`,
  `in vec3 place, tint; uniform vec3 eye; uniform float lit, alpha; out vec4 result;
   void main() { vec3 n = normalize(cross(dFdx(place), dFdy(place)));
     vec3 v = normalize(eye - place);
     if (dot(n, v) < 0.0) n = -n;
     float sun = max(dot(n, normalize(vec3(0.3, -0.5, 1.0))), 0.0);
     float shade = mix(1.0, 0.42 + 0.5 * sun + 0.12 * max(dot(n, v), 0.0), lit);
     result = vec4(tint * shade, alpha); }`);
const U = name => gl.getUniformLocation(P, name);
gl.useProgram(P);
function buffer(data, target = gl.ARRAY_BUFFER) {
  const b = gl.createBuffer();
  gl.bindBuffer(target, b); gl.bufferData(target, data, gl.STATIC_DRAW);
  return b;
}
const indices = s => { const b = bytes(s);
  return {count: b.length / 4, buffer: buffer(b, gl.ELEMENT_ARRAY_BUFFER)}; };
const body = {frames: buffer(bytes(D.frames)), colors: buffer(bytes(D.colors)),
  triangles: indices(D.triangles), lines: indices(D.lines), dots: indices(D.dots)};
const solids = D.solids.map(s => ({...s, points: buffer(bytes(s.points)),
  triangles: indices(s.triangles)}));
const centre = D.low.map((l, i) => l + D.size[i] / 2);
const reach = Math.hypot(...D.size) || 1;
let turn = -1.05, lift = 0.35, away = 1.05 * reach, shift = [0, 0, 0];
let t = 0, playing = true, before = 0, stale = true;
const last = D.times.length - 1, length = D.times[last] - D.times[0];
const speed = length > 0 && length < 2 ? length / 6 : 1;
function multiply(a, b) {
  const c = new Float32Array(16);
  for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++)
    for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
  return c;
}
function camera() {
  const [ct, st, cl, sl] = [Math.cos(turn), Math.sin(turn), Math.cos(lift), Math.sin(lift)];
  const out = [ct * cl, st * cl, sl], right = [-st, ct, 0], up = [-ct * sl, -st * sl, cl];
  const at = centre.map((c, i) => c + shift[0] * right[i] + shift[1] * up[i]);
  const eye = at.map((c, i) => c + away * out[i]);
  const inner = (p, q) => p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
  const look = [right[0], up[0], out[0], 0, right[1], up[1], out[1], 0, right[2], up[2], out[2], 0,
    -inner(right, eye), -inner(up, eye), -inner(out, eye), 1];
  const near = 0.02 * away, far = away + 20 * reach, f = 2.4;
  const lens = [f * canvas.height / canvas.width, 0, 0, 0, 0, f, 0, 0,
    0, 0, -(far + near) / (far - near), -1, 0, 0, -2 * far * near / (far - near), 0];
  return {eye, view: multiply(lens, look)};
}
const still = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
function draw() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * ratio; canvas.height = canvas.clientHeight * ratio;
  gl.viewport(0, 0, canvas.width, canvas.height);
  gl.clearColor(0.957, 0.961, 0.969, 1); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  gl.enable(gl.DEPTH_TEST);
  const {eye, view} = camera(), now = D.times[0] + t;
  let i = D.times.findIndex(x => x > now) - 1;
  if (i < 0) i = Math.max(last - 1, 0);
  const j = Math.min(i + 1, last), gap = D.times[j] - D.times[i];
  const part = gap > 0 ? Math.min(1, Math.max(0, (now - D.times[i]) / gap)) : 0;
  gl.uniformMatrix4fv(U("view"), false, view); gl.uniform3fv(U("eye"), eye);
  gl.uniform1f(U("dot"), Math.max(3, canvas.height / 70)); gl.uniform1f(U("alpha"), 1);
  gl.uniform1f(U("lit"), 1);
  for (const s of solids) {
    gl.uniform3f(U("low"), 0, 0, 0); gl.uniform3f(U("size"), 1, 1, 1); gl.uniform1f(U("mixed"), 0);
    const pose = s.poses[Math.min(part < 0.5 ? i : j, s.poses.length - 1)];
    gl.uniformMatrix4fv(U("pose"), false, pose);
    gl.bindBuffer(gl.ARRAY_BUFFER, s.points);
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.disableVertexAttribArray(1); gl.disableVertexAttribArray(2);
    const grey = s.flat ? 0.86 : 0.66;
    gl.vertexAttrib3f(2, grey, grey, grey + 0.01);
    if (s.hollow) { gl.enable(gl.CULL_FACE); gl.cullFace(gl.BACK); }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, s.triangles.buffer);
    gl.drawElements(gl.TRIANGLES, s.triangles.count, gl.UNSIGNED_INT, 0);
    gl.disable(gl.CULL_FACE);
  }
  gl.uniform3fv(U("low"), D.low); gl.uniform3fv(U("size"), D.size);
  gl.uniform1f(U("mixed"), part); gl.uniformMatrix4fv(U("pose"), false, still);
  gl.bindBuffer(gl.ARRAY_BUFFER, body.frames);
  for (const [place, k] of [[0, i], [1, j]]) {
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 3, gl.UNSIGNED_SHORT, true, 6, 6 * k * D.points);
  }
  gl.bindBuffer(gl.ARRAY_BUFFER, body.colors);
  gl.enableVertexAttribArray(2); gl.vertexAttribPointer(2, 3, gl.UNSIGNED_BYTE, true, 0, 0);
  const kinds = [
    [gl.TRIANGLES, body.triangles, 1], [gl.LINES, body.lines, 0], [gl.POINTS, body.dots, 0]];
  for (const [kind, list, lit] of kinds) {
    if (!list.count) continue;
    gl.uniform1f(U("lit"), lit);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, list.buffer);
    gl.drawElements(kind, list.count, gl.UNSIGNED_INT, 0);
  }
  clock.textContent = "t = " + now.toFixed(length < 1 ? 3 : 2) + " s";
}
function tick(ms) {
  if (playing && length > 0) {
    t += speed * Math.min(0.1, (ms - before) / 1000);
    if (t > length) t = 0;
    slider.value = 1000 * t / length;
    stale = true;
  }
  before = ms;
  if (stale) { draw(); stale = false; }
  requestAnimationFrame(tick);
}
button.onclick = () => { playing = !playing; button.textContent = playing ? "pause" : "play"; };
slider.oninput = () => { t = length * slider.value / 1000; playing = false; stale = true;
  button.textContent = "play"; };
canvas.onpointerdown = e => canvas.setPointerCapture(e.pointerId);
canvas.onpointermove = e => {
  if (!e.buttons) return;
  if (e.shiftKey || e.buttons > 1) {
    shift[0] -= away * e.movementX / canvas.clientHeight / 1.2;
    shift[1] += away * e.movementY / canvas.clientHeight / 1.2;
  } else {
    turn -= e.movementX / 150;
    lift = Math.min(1.55, Math.max(-1.55, lift + e.movementY / 150));
  }
  stale = true;
};
canvas.oncontextmenu = e => e.preventDefault();
canvas.addEventListener("wheel", e => { e.preventDefault();
  away *= Math.exp(e.deltaY / 1000); stale = true; }, {passive: false});
window.onresize = () => { stale = true; };
requestAnimationFrame(tick);
</script></body></html>
"""
