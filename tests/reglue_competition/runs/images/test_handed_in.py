"""Archives that teams hand in over the network: what comes, breaks off, goes on and is refused."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue.errors import Refused, Unreachable, UsageError, WrongToken, WrongVersion
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import JoinString
from reglue.net.upload import Submitted, submit
from reglue.v1 import submission_pb2, submission_pb2_grpc
from tests.reglue_competition.competitions import practice
from tests.reglue_competition.images.test_image import Made, sha256, tar
from tests.reglue_competition.runs.images.door import archived, door, sent
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("cleared")

Stub = Callable[..., submission_pb2.ArchiveState]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_an_image_is_kept_and_entered(
    tmp_path: Path, large: Made, pack: Callable[[bytes], bytes]
) -> None:
    told: list[tuple[str, int, int]] = []
    with door(tmp_path) as here:
        file = archived(tmp_path, pack(tar(large.saved())))
        entered = sent(here.team(), file, watcher=lambda *each: told.append(each))
        (submission,) = here.store.submissions()
        digest = sha256(large.config)
        assert entered == Submitted(submission.id, digest, "public")
        assert (submission.team, submission.name, submission.image) == ("Team A", "first", digest)
        assert (here.kept, here.incoming) == ([digest], [])
        assert (tmp_path / "images").stat().st_mode & 0o777 == 0o700
    steps = list(dict.fromkeys(what for what, _, _ in told))
    assert steps[:2] == ["reading", "sending"]
    assert len([what for what, _, _ in told if what == "sending"]) >= 3  # parts
    assert {size for _, _, size in told} == {file.stat().st_size}


def test_the_same_again_is_the_same_submission(tmp_path: Path, large: Made) -> None:
    with door(tmp_path) as here:
        team, file = here.team(), archived(tmp_path, tar(large.saved()))
        first = sent(team, file)
        assert sent(team, file) == first
        again = JoinString(here.gateway.address, team.token)
    with door(tmp_path) as here:  # which knows nothing of what was handed in
        again = JoinString(here.gateway.address, team.token)
        assert sent(again, file) == first
        assert (len(here.store.submissions()), here.incoming) == (1, [])


def test_later_the_same_archive_is_a_new_submission_once_the_old_one_has_ended(
    tmp_path: Path, large: Made
) -> None:
    with door(tmp_path) as here:
        team, file = here.team(), archived(tmp_path, tar(large.saved()))
        first = sent(team, file)
        here.now_s += 100.0
        assert sent(team, file).id == first.id  # it waits
        here.now_s += 100.0
        here.store.set_status(first.id, "cancelled")
        second = sent(team, file)
        assert (second.id == first.id, second.image) == (False, first.image)


def test_what_has_come_stays_and_the_next_server_goes_on_with_it(
    tmp_path: Path, large: Made
) -> None:
    file = archived(tmp_path, tar(large.saved()))
    with door(tmp_path) as here:
        team = here.team()
        (tmp_path / "half").mkdir()
        with pytest.raises(KeyboardInterrupt):
            sent(team, file, watcher=_interrupts_at(300_000))
        assert len(here.incoming) == 1
    begun: list[int] = []
    with door(tmp_path) as here:
        entered = sent(
            JoinString(here.gateway.address, team.token),
            file,
            watcher=lambda what, done, _: begun.append(done) if what == "sending" else None,
        )
        assert entered.image == sha256(large.config)
        assert (begun[0], here.incoming) == (524_288, [])


def _interrupts_at(wanted: int) -> Callable[[str, int, int], None]:
    def watch(what: str, done: int, _: int) -> None:
        if what == "sending" and done >= wanted:
            raise KeyboardInterrupt

    return watch


def test_a_team_has_one_archive_under_way(tmp_path: Path, large: Made) -> None:
    with door(tmp_path) as here:
        team = here.team()
        (tmp_path / "other").mkdir()
        other = archived(tmp_path / "other", tar(Made(layers=large.layers * 2).saved()))
        with pytest.raises(KeyboardInterrupt):
            sent(team, other, watcher=_interrupts_at(300_000))
        before = here.incoming
        sent(team, archived(tmp_path, tar(large.saved())))
        assert (len(before), here.incoming) == (1, [])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"agents": "remote"}, "agents that connect by themselves"),
        ({"images": {"image_gib": 0.0001}}, "wanted 107,374 at most"),
        ({"quotas": {"at_once": 1}}, "wait until one has ended"),
    ],
    ids=["remote", "too large", "quota"],
)
def test_it_is_refused_before_anything_is_sent(
    tmp_path: Path, large: Made, change: dict[str, Any], says: str
) -> None:
    with door(tmp_path, **change) as here:
        team, told = here.team(), list[str]()
        if "quotas" in change:
            of, image = here.store.team("Team A"), sha256(b"another")
            here.store.enter(of, "another", datetime.now(UTC), image=image)
        file = archived(tmp_path, tar(large.saved()))
        with pytest.raises(Refused, match=says):
            sent(team, file, watcher=lambda what, *_: told.append(what))
        assert ("sending" in told, here.incoming, here.kept) == (False, [], [])


def test_the_token_says_which_phase_an_image_enters(tmp_path: Path, large: Made) -> None:
    file = archived(tmp_path, tar(large.saved()))
    with door(tmp_path, "remote", practice(agents="submitted")) as here:
        plain = here.team()
        with pytest.raises(Refused, match="phase public plays agents that connect"):
            sent(plain, file)
        token = here.store.new_token(here.store.team("Team A"), phase="practice")
        alone = JoinString(here.gateway.address, token)
        assert sent(alone, file).phase == "practice"
        here.store.close_phase("practice")
        with pytest.raises(Refused, match="phase practice is closed"):
            sent(alone, file, "second")
        assert [each.phase for each in here.store.submissions()] == ["practice"]


def test_strangers_and_wrong_names_are_refused(tmp_path: Path, large: Made) -> None:
    file = archived(tmp_path, tar(large.saved()))
    with door(tmp_path) as here:
        team = here.team()
        with pytest.raises(WrongToken):
            sent(JoinString(here.gateway.address, "another"), file)
        with pytest.raises(Refused):
            sent(team, file, name="")
        with pytest.raises(UsageError):
            sent(team, tmp_path / "none")
        with pytest.raises(UsageError):
            sent(team, tmp_path)
        assert (here.store.submissions(), here.incoming) == ([], [])


@pytest.mark.parametrize(
    "content",
    [b"no archive" * 100_000, tar({"manifest.json": b"[]"}), b"\x1f\x8b" + bytes(500_000)],
    ids=["text", "empty", "gzip"],
)
def test_what_is_no_image_is_refused_and_nothing_of_it_stays(
    tmp_path: Path, content: bytes
) -> None:
    with door(tmp_path) as here:
        team = here.team()
        with pytest.raises(Refused, match="the archive is refused"):
            sent(team, archived(tmp_path, content))
        assert (here.store.submissions(), here.incoming, here.kept) == ([], [], [])
        sent(team, archived(tmp_path, tar(Made().saved())))  # the right one


def test_who_takes_no_archives_says_so(tmp_path: Path) -> None:
    file = archived(tmp_path, b"an archive")
    with (
        AgentGateway(entries=_nobody(), reconnect_window_s=5.0) as gateway,
        pytest.raises(Refused, match="takes no archives"),
    ):
        sent(JoinString(gateway.address, "token"), file)
    with pytest.raises(Unreachable):
        submit(JoinString(gateway.address, "t"), file, name="x", connect_timeout_s=0.5)


def _nobody() -> Any:
    return object()  # nobody enters


@contextmanager
def calls(address: str) -> Iterator[Stub]:
    """The call, with what is right unless a test says otherwise."""
    with grpc.insecure_channel(address) as channel:
        stub = submission_pb2_grpc.SubmissionServiceStub(channel)

        def call(content: bytes = b"", offset: int = 0, **about: Any) -> Any:
            part: dict[str, Any] = {
                "major": 1,
                "name": "first",
                "content": content,
                "offset": offset,
            } | about
            return stub.Submit(submission_pb2.ArchivePart(**part), timeout=10.0)

        yield call


def refusal(call: Callable[[], object]) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    code: grpc.StatusCode = caught.value.code()
    return code


def test_parts_are_taken_in_order_once_and_no_more_than_was_said(tmp_path: Path) -> None:
    content = tar(Made().saved())
    with door(tmp_path) as here, calls(here.gateway.address) as call:
        token = here.team().token
        about = {"token": token, "size": len(content), "sha256": hashlib.sha256(content).digest()}
        assert refusal(lambda: call(content[:9], **about)) is grpc.StatusCode.ABORTED  # not begun
        assert call(**about).received == 0
        assert call(content[:100], **about).received == 100
        assert call(content[:100], **about).received == 100  # again: it has it
        assert call(content[200:], 200, **about).received == 100  # one is missing
        more = content[100:] + b"more"
        assert refusal(lambda: call(more, 100, **about)) is grpc.StatusCode.INVALID_ARGUMENT
        assert call(**about).received == 100
        other = {**about, "sha256": bytes(32)}
        assert refusal(lambda: call(content[100:], 100, **other)) is grpc.StatusCode.ABORTED
        call(content[100:], 100, **about)
        until(lambda: not here.incoming, "it is entered")
        (submission,) = here.store.submissions()
        assert call(**about).submission == submission.id


def test_bytes_that_changed_on_the_way_are_refused(tmp_path: Path) -> None:
    content = tar(Made().saved())
    with door(tmp_path) as here, calls(here.gateway.address) as call:
        about = {"token": here.team().token, "size": len(content), "sha256": bytes(32)}
        call(**about)
        call(content, **about)

        until(lambda: not here.incoming, "it is refused")
        with pytest.raises(grpc.RpcError) as caught:
            call(**about)
        assert "it came damaged" in str(caught.value)
        assert (here.store.submissions(), here.incoming, here.kept) == ([], [], [])


@pytest.mark.parametrize(
    ("about", "code"),
    [
        ({"sha256": b"short"}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"size": 0}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"size": 2**63}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"major": 9}, grpc.StatusCode.FAILED_PRECONDITION),
        ({"token": "another"}, grpc.StatusCode.UNAUTHENTICATED),
        ({"name": "\0"}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"content": bytes(400_000)}, grpc.StatusCode.INVALID_ARGUMENT),
    ],
    ids=["digest", "nothing", "size", "version", "token", "name", "part"],
)
def test_wrong_calls_are_refused(
    tmp_path: Path, about: dict[str, Any], code: grpc.StatusCode
) -> None:
    with door(tmp_path) as here, calls(here.gateway.address) as call:
        right = {"token": here.team().token, "size": 1000, "sha256": bytes(32)}
        assert refusal(lambda: call(**right | about)) is code
        assert here.incoming == []


def test_a_client_of_another_version_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reglue.net.upload.PROTOCOL_MAJOR", 9)
    with door(tmp_path) as here, pytest.raises(WrongVersion):
        sent(here.team(), archived(tmp_path, b"an archive"))


def test_where_there_is_no_room_it_is_later(tmp_path: Path, large: Made) -> None:
    content = tar(large.saved())
    size = len(content) / 2**30
    with (
        door(tmp_path, images={"image_gib": size, "images_gib": 1.5 * size}) as here,
        calls(here.gateway.address) as call,
    ):
        first, second = here.team("A").token, here.team("B").token
        about = {"size": len(content), "sha256": hashlib.sha256(content).digest()}
        assert call(token=first, **about).received == 0
        code = refusal(lambda: call(token=second, **about))
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        call(content[:100], token=first, **about)
        here.now_s += 601.0  # it makes room
        assert call(token=second, **about).received == 0
        assert len(here.incoming) == 0
        with pytest.raises(grpc.RpcError):
            call(content[100:], 100, token=first, **about)


def test_a_token_that_was_revoked_meanwhile_enters_nothing(tmp_path: Path) -> None:
    content = tar(Made().saved())
    with door(tmp_path) as here, calls(here.gateway.address) as call:
        token = here.team().token
        about = {
            "token": token,
            "size": len(content),
            "sha256": hashlib.sha256(content).digest(),
        }
        call(**about)
        with here.folder.images_lock():  # the check waits for this
            call(content, **about)
            here.store.retire_team("Team A")
        until(lambda: not here.incoming, "it is refused")
        assert refusal(lambda: call(**about)) is grpc.StatusCode.UNAUTHENTICATED
        assert (here.store.submissions(), here.kept) == ([], [])


def test_an_archive_under_check_ends_with_the_server_and_goes_on_in_the_next(
    tmp_path: Path, large: Made
) -> None:
    content = tar(large.saved())
    about = {"size": len(content), "sha256": hashlib.sha256(content).digest()}
    with door(tmp_path) as here, calls(here.gateway.address) as call:
        about["token"] = here.team().token
        call(**about)
        with here.folder.images_lock():  # the check waits for this
            for offset in range(0, len(content), 250_000):
                call(content[offset : offset + 250_000], offset, **about)
            assert call(**about).submission == ""
            here.close()
        assert here.store.submissions() == []
        assert len(here.incoming) == 1
    with door(tmp_path) as here, calls(here.gateway.address) as call:
        call(**about)
        until(lambda: not here.incoming, "it is entered")
        (submission,) = here.store.submissions()
        assert call(**about).submission == submission.id
