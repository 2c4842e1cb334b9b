"""The folder of verdicts: what was written is read, and what cannot be read is no verdict."""

import resource
import shutil

import pytest

from trl_grpo_rewards.judging.shared_clients import VerdictCache


def test_a_verdict_is_read_by_the_key_that_it_was_written_with(tmp_path):
    cache = VerdictCache(str(tmp_path / "new" / "folder"))
    cache.write("abcdef", {"score": 7})
    assert cache.read("abcdef") == {"score": 7} and cache.read("abcdee") is None
    cache.write("abcdef", {"score": 8})
    assert VerdictCache(str(cache.folder)).read("abcdef") == {"score": 8}
    assert [file.name for file in cache.folder.rglob("*.*")] == ["cdef.json"]  # nothing unfinished is left


@pytest.mark.parametrize("text", ["", '{"score": ', "[" * 100_000])
def test_a_damaged_file_is_no_verdict(tmp_path, text):
    cache = VerdictCache(str(tmp_path))
    cache.write("abcdef", {"score": 7})
    (tmp_path / "ab" / "cdef.json").write_text(text)
    assert cache.read("abcdef") is None


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        ValueError, match="The folder of a judge's cache cannot be created: .* Choose a path that you can"
    ):
        VerdictCache(str(tmp_path / "file"))


def test_a_folder_that_was_removed_is_made_again(tmp_path):
    cache = VerdictCache(str(tmp_path / "kept"))
    shutil.rmtree(cache.folder)
    cache.write("abcdef", {"score": 7})
    assert cache.read("abcdef") == {"score": 7}


def test_a_full_disk_costs_the_verdict_and_is_said_once(tmp_path, caplog):
    cache = VerdictCache(str(tmp_path))
    cache.write("abcdef", {"score": 7})
    unlimited, ceiling = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, ceiling))
    try:
        for key in ("abcdef", "ghijkl"):
            cache.write(key, {"score": 8, "reason": "It is longer than the disk has room for."})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, ceiling))
    assert cache.read("abcdef") == {"score": 7} and cache.read("ghijkl") is None
    assert [file.name for file in tmp_path.rglob("*.*")] == ["cdef.json"]  # nothing unfinished is left
    (record,) = caplog.records
    assert "Verdicts cannot be written to the cache" in record.message and "File too large" in record.message
    cache.write("ghijkl", {"score": 9})
    assert cache.read("ghijkl") == {"score": 9}
