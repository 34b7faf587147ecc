"""Kernels for NVIDIA cards, in raw CUDA; those that are missing here run on the host."""
