"""The page in a browser: Debian's Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect

from reglue_competition.competition_folder import CompetitionFolder
from reglue_competition.store import Store
from reglue_competition.videos import clips, write_videos
from tests.reglue_competition.page.competition_builder import Made, begin, end, enter, play
from tests.reglue_competition.page.page_server import served
from tests.reglue_competition.page.played_submissions import CART_POLE, enter_played, hosts
from tests.waiting import until

_PATIENCE_MS = 20_000

Scheme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def address(made: Made) -> Iterator[str]:
    """Of the competition that no test changes."""
    with served(made) as found:
        yield found


def opened(browser: Browser, address: str, **how: object) -> tuple[BrowserContext, Page, list[str]]:
    """A window, and what its console complains of."""
    context = browser.new_context(base_url=address, **how)  # type: ignore[arg-type]
    context.set_default_timeout(_PATIENCE_MS)
    page, trouble = context.new_page(), list[str]()
    page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    return context, page, trouble


def log_in(page: Page, token: str) -> None:
    page.goto("/team")
    page.get_by_label("Your join string").fill(token)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()  # a click waits for no page
    page.wait_for_load_state()


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (360, "dark")], ids=["wide and light", "narrow and dark"]
)
def test_every_page_is_accessible_and_fits(
    browser: Browser, address: str, made: Made, width: int, scheme: Scheme
) -> None:
    how = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    context, page, trouble = opened(browser, address, **how)
    failed = f"/submissions/{made.submissions['failed']}"
    for path in ("/", "/rules", "/team"):
        page.goto(path)
        check(page)
    log_in(page, made.organiser)
    check(page)
    page.goto(failed)
    check(page)
    context.clear_cookies()
    log_in(page, made.teams["Ada"])
    check(page)
    page.goto(f"/submissions/{made.submissions['Ada 1']}")
    expect(page.get_by_role("button", name="Appeal")).to_be_visible()
    check(page)
    assert trouble == []
    context.close()


def test_a_long_fault_pushes_nothing_out_of_a_narrow_card(browser: Browser, tmp_path: Path) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store, served(made) as address:
        submission = enter(store, made, "Ada", "x")
        store.set_status(submission.id, "playing")
        words = (
            "agent_error: ValueError: the network wanted an observation of shape (39,), got (36,)"
        )
        store.set_status(submission.id, "failed", words)
        context, page, _ = opened(browser, address, viewport={"width": 400, "height": 800})
        log_in(page, made.teams["Ada"])
        expect(page.get_by_text("agent_error")).to_be_visible()
        table = page.get_by_role("region", name="Your submissions")
        assert table.evaluate("card => card.scrollWidth <= card.clientWidth")
        context.close()


def check(page: Page) -> None:
    """Axe finds nothing, and nothing sticks out to the side."""
    found = Axe().run(page)
    assert found.violations_count == 0, f"{page.url}\n{found.generate_report()}"
    too_wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(too_wide), page.url


def test_all_can_be_read_and_done_without_javascript(browser: Browser, tmp_path: Path) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        ended = enter(store, made, "Ada", "x")
        end(store, ended, play(0.9), play(0.8))
        waiting, broken = enter(store, made, "Eve", "y"), enter(store, made, "Eve", "z")
        store.set_status(broken.id, "broken", "the disk was full")
        with served(made) as address:
            context, page, _ = opened(browser, address, java_script_enabled=False)
            page.goto("/")
            expect(page.get_by_role("row", name="Ada")).to_contain_text("91.7 %")
            log_in(page, made.organiser)
            page.get_by_role("button", name="Cancel").click()
            expect(page.get_by_role("heading", name="Organiser")).to_be_visible()
            assert store.submission(waiting.id).cancel_asked
            store.file_appeal(store.team("Ada"), ended.id, "It was your network.")
            page.reload()
            page.get_by_label("Your answer").fill("It was not.")
            page.get_by_role("button", name="Answer").click()
            expect(page.get_by_text("None waits for an answer.")).to_be_visible()
            page.get_by_role("button", name="Play again").click()
            expect(page.get_by_role("button", name="Play again")).to_have_count(0)
            assert store.submission(broken.id).status == "waiting"
            page.get_by_role("button", name="Close warm-up").click()
            page.get_by_role("button", name="Reopen warm-up").click()
            page.get_by_role("button", name="Close warm-up").click()
            page.get_by_role("button", name="Open private").click()
            expect(page.get_by_text("the server opens it")).to_be_visible()
            assert [each.open_asked for each in store.phases()] == [False, True]
            page.get_by_role("button", name="Log out").click()
            expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
            context.close()


def test_an_open_page_shows_what_happens(browser: Browser, tmp_path: Path) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store, served(made) as address:
        context, page, trouble = opened(browser, address)
        page.goto("/")
        expect(page.get_by_text("Nobody has a score yet.")).to_be_visible()
        submission = enter(store, made, "Ada", "x")
        now = page.locator(f'[data-submission="{submission.id}"]')
        expect(now).to_contain_text("in the queue", timeout=_PATIENCE_MS)
        store.set_status(submission.id, "playing")
        store.set_progress(submission.id, {"index": 0, "done": 9, "total": 36})
        expect(now).to_contain_text("9 of 36 episodes", timeout=_PATIENCE_MS)
        expect(now.get_by_role("progressbar")).to_have_attribute("value", "9")
        end(store, submission, play(0.9), play(0.8))
        expect(page.get_by_role("row", name="Ada")).to_be_visible(timeout=_PATIENCE_MS)
        assert trouble == []
        context.close()


def test_the_organiser_is_asked_before_a_phase_is_closed(browser: Browser, tmp_path: Path) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store, served(made) as address:
        context, page, trouble = opened(browser, address)
        asked: list[str] = []

        def answer(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.accept() if len(asked) > 1 else dialog.dismiss()

        page.on("dialog", answer)
        log_in(page, made.organiser)
        close = page.get_by_role("button", name="Close warm-up")
        close.click()
        assert store.phases()[0].state == "open"
        close.click()
        expect(close).to_have_count(0)
        assert store.phases()[0].state == "closed"
        assert asked == ["Close warm-up?"] * 2
        assert trouble == []
        context.close()


def test_a_published_replay_plays(browser: Browser, tmp_path: Path) -> None:
    of = hosts(CART_POLE, page={"replays": True})
    made = begin(tmp_path, of)
    with Store(made.url) as store:
        submission = enter_played(store, made, "Ada", (CART_POLE,))
        store.close_phase("warm-up")
        wanted = clips(CompetitionFolder(tmp_path, of), store, "warm-up")
        assert list(write_videos(wanted, episodes=1, fps=30.0, watcher=lambda *_: None)) == []
        with served(made) as address:
            context, page, trouble = opened(browser, address)
            page.goto(f"/submissions/{submission.id}")
            check(page)
            page.evaluate("document.querySelector('video').play()")
            passed = "document.querySelector('video').currentTime > 0.1"
            until(lambda: page.evaluate(passed), "the video plays")
            assert page.evaluate("document.querySelector('video').videoWidth") == 600
            assert trouble == []
            context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_a_long_board_finds_a_team_and_strikes_what_does_not_count(
    browser: Browser, tmp_path: Path, width: int, scheme: Scheme
) -> None:
    made = begin(tmp_path)
    with Store(made.url) as store:
        for number in range(16):
            end(store, enter(store, made, f"Team {number}", f"x{number}"), play(0.9), play(0.9))
        store.rule(made.submissions["x3"], "off the board", "It read its goals")
        store.rule(made.submissions["x4"], "unranked", "a baseline")
        store.tell("It closes two days later.")
    how = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    with served(made) as address:
        context, page, trouble = opened(browser, address, **how)
        page.goto("/")
        check(page)
        rows = page.locator(".board tbody tr:visible")
        expect(rows).to_have_count(16)
        page.get_by_label("Find a team").fill("team 1")
        expect(rows).to_have_count(7)
        page.get_by_label("Find a team").fill("nobody")
        expect(rows).to_have_count(0)
        page.get_by_label("Find a team").fill("")
        expect(rows).to_have_count(16)
        expect(page.locator(".struck")).to_have_count(1)
        log_in(page, made.teams["Team 5"])
        page.goto(f"/submissions/{made.submissions['x5']}")
        check(page)
        assert trouble == []
        context.close()
