"""A complete, tiny RLHF pipeline in pure torch.

Shapes use one alphabet everywhere: B prompts, n samples per prompt, N = B*n rows, T tokens,
L = 8 response tokens, V = 40 vocabulary entries, C width. Row i belongs to prompt i // n.
"""
