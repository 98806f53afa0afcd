"""The pinned models: their packages, and the digest of every file.

The networks are OpenAI's Whisper (MIT) in ONNX form with 8-bit weights, Moonshine tiny for English
(MIT, from its authors) and Silero's voice detector (MIT). Third parties made most of the packages,
so every file is pinned.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class PinnedFile:
    """One file: its path in the model's folder and in the package."""

    name: str
    packed: str
    sha256: str


@dataclass(frozen=True)
class PinnedModel:
    """A model and the npm package that contains it; `integrity` is that of the whole archive."""

    name: str
    package: str
    version: str
    integrity: str
    files: tuple[PinnedFile, ...]


def _whisper(
    name: str, *, integrity: str, settings: str, encoder: str, decoder: str
) -> PinnedModel:
    digests = {
        "vocab.json": "50d6a919f0a0601d56a04eb583c780d18553aa388254ba3158eb6a00f13e2c1a",
        "generation_config.json": settings,
        "onnx/encoder_model_quantized.onnx": encoder,
        "onnx/decoder_model_merged_quantized.onnx": decoder,
    }
    files = (
        PinnedFile(path, f"models/Xenova/whisper-{name}/{path}", digest)
        for path, digest in digests.items()
    )
    return PinnedModel(name, f"sts-whisper-{name}", "1.0.0", integrity, tuple(files))


BASE: Final = _whisper(
    "base",
    integrity="sha512-lBXHIZX66KiR4+TMl2zCB4NO/Ih3Vp06l1yDjYtG9rROlLVPq3s7DiBtTRkeFQiDh0Zl3x+OmRuse17Fyjq20w==",
    settings="3bba359e33fdd6dc1c10f71846a477d339b0242f462f70ea1dd73274caa38d05",
    encoder="3e345e977b55620a37c0c2b2af0644e019afdfad562dcf71eb929bb7274285f9",
    decoder="a6beb6baabb66f00b6a686d828c95ffca6146d51900cbad0266cad38f64cf861",
)

SMALL: Final = _whisper(
    "small",
    integrity="sha512-NoW0Id+PSL22BoV+34HXs0uT0et1Y63Cks/QCosYe0khaGMr6y/fBEup2k1+5fut3jxrZg1k1SrZ0gOpAU/LsQ==",
    settings="0b7407a4e53a677f826e03c75d409e6f830663932bf43dda3b08c5efa2223279",
    encoder="969f5ac12974340386bf7a02ea6626003e5e2dee396ffc6ab0eec282bf55ba06",
    decoder="fcfc6100dc7339e7507e10f8b274350be7c4f8d8b575f0293f94cc0e156d6d24",
)

SILERO: Final = PinnedModel(
    "voice",
    "@ricky0123/vad-web",
    "0.0.31",
    "sha512-ePVq8TvB21sdHSxVMZOEIf9JVa7MAYpaIaNXeGgsPOiMCN8xbPCdF2LS5aYj7VRR3ZxzutedgV9ZplV65IA1Fg==",
    (
        PinnedFile(
            "silero_vad.onnx",
            "dist/silero_vad_v6.onnx",
            "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
        ),
    ),
)

# Its vocabulary is in the authors' own script, and nowhere else in the package.
MOONSHINE: Final = PinnedModel(
    "moonshine",
    "@moonshine-ai/moonshine-js",
    "0.1.29",
    "sha512-Gx1B3mJcbM68ihSy/LyJEuEkGq7sYMqTb04zNdcIeidU0URVlSmXP0GyiQOTTAqDZQXlIC7k+bky+FdXk0UPlg==",
    (
        PinnedFile(
            "encoder.onnx",
            "dist/model/tiny/quantized/encoder_model.onnx",
            "c6fc4b7bc5af75c0591fd157a1f3829b533d18e9769a888fd95a62e470dd4f4a",
        ),
        PinnedFile(
            "decoder.onnx",
            "dist/model/tiny/quantized/decoder_model_merged.onnx",
            "eed87831c3a6103534aae7d47a5d485025c659a1323901513961c39fe8a1a367",
        ),
        PinnedFile(
            "words.js",
            "dist/moonshine.min.js",
            "5531de142441cec986ee8e171461fbe4a06c071aefe1be8e4356b708ccf32eb9",
        ),
    ),
)

WHISPERS: Final = {model.name: model for model in (BASE, SMALL)}
MODELS: Final = WHISPERS | {MOONSHINE.name: MOONSHINE, SILERO.name: SILERO}
