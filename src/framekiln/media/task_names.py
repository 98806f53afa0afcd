"""The functions of this package that run in confined children, by name.

Their modules import FFmpeg's libraries, so the parent process must not import them.
"""

from typing import Final

CAPTION_CHECK_TASK: Final = "framekiln.media.caption_check:caption_check_task"
EXACT_FRAMES_TASK: Final = "framekiln.media.exact_frames:exact_frames_task"
FRAME_TIMES_TASK: Final = "framekiln.media.exact_frames:frame_times_task"
IMAGE_FACTS_TASK: Final = "framekiln.media.images.image_facts:image_facts_task"
MUX_TRACKS_TASK: Final = "framekiln.media.remux.track_mux:mux_tracks_task"
OVERVIEW_TASK: Final = "framekiln.media.analysis.overview:overview_task"
PROBE_MEDIA_TASK: Final = "framekiln.media.probe.media_file:probe_media_task"
PROBE_SOURCE_TASK: Final = "framekiln.media.probe.source:probe_source_task"
SAMPLED_FRAMES_TASK: Final = "framekiln.media.analysis.sampled_frames:sampled_frames_task"
SCENE_CUTS_TASK: Final = "framekiln.media.analysis.scene_cuts:scene_cuts_task"
SPAN_SAMPLES_TASK: Final = "framekiln.media.audio.span_samples:span_samples_task"
SPEECH_SAMPLES_TASK: Final = "framekiln.media.audio.speech_samples:speech_samples_task"
SPLIT_TASK: Final = "framekiln.media.tracks.split:split_task"
