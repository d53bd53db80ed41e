"""The sections of a game's config: what each may hold, and its defaults.

Names and meanings are Meta Arcade's ("Configuration Files"), so its games can be played;
`maze` and `maze_settings` are ours. Lengths are in sides of the screen, x to the right and y
downwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    Strict,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from env_adapters.environment_configs import JSON
from env_adapters.environment_configs.distributions import is_distribution
from env_adapters.environment_configs.values import is_finite, is_number

SAMPLED = "sampled"
"""Validation context for the config of one episode: draws beyond a bound are cut to it, integers
are rounded, and distributions are refused."""

_BLACK = [0, 0, 0]  # a colour that is legal wherever a distribution of colours is
_ENDS = {"uniform": ("low", "high"), "normal": ("mean",), "gaussian": ("mean",)}


@dataclass(frozen=True, slots=True)
class Within:
    """Annotates a finite number from `low` to `high`, an integer if `low` is an int.

    `word` is accepted in place of the number.
    """

    low: float
    high: float
    word: str | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._checked)

    def _checked(self, value: object, info: ValidationInfo) -> float | str:
        if isinstance(value, str) and value == self.word:
            return value
        if not is_number(value) or not is_finite(value):
            raise self._refusal()
        whole = isinstance(self.low, int)
        if info.context == SAMPLED:
            value = min(max(round(value) if whole else value, self.low), self.high)
        if not self.low <= value <= self.high or (whole and value != int(value)):
            raise self._refusal()
        return int(value) if whole else float(value)

    def _refusal(self) -> PydanticCustomError:
        kind = "an integer" if isinstance(self.low, int) else "a number"
        word = f' or "{self.word}"' if self.word else ""
        return PydanticCustomError("within", f"{kind} from {self.low} to {self.high}{word}")


def _or_drawn(value: JSON, check: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """Keep a distribution as it is, if the values that it is drawn from are legal."""
    if not is_distribution(value):
        return check(value)
    if info.context == SAMPLED:
        raise PydanticCustomError("drawn", "a value drawn from the distribution")
    name = value["distribution"]
    try:
        for end in [value[key] for key in _ENDS[name]] if name in _ENDS else [_BLACK]:
            check(end)
    except ValidationError as error:
        raise PydanticCustomError("drawn", f"draws that are {wanted(error.errors()[0])}") from error
    return value


def wanted(error: ErrorDetails) -> str:
    """A text that says what a validation wanted."""
    match error["type"]:
        case "string_type":
            return "text"
        case "bool_type":
            return "true or false"
        case "literal_error":
            return str(error["ctx"]["expected"])
        case "model_type" | "dict_type":
            return "a table of keys and values"
        case "invalid_key":
            return "keys that are text"
        case "tuple_type" | "too_long" | "missing":
            return "a list of numbers, as many as the default has"
        case _:
            return error["msg"]


OR_DRAWN = WrapValidator(_or_drawn)

Channel = Annotated[int, Within(0, 255), OR_DRAWN]
Color = Annotated[tuple[Channel, Channel, Channel], Strict(False), OR_DRAWN]
"""Red, green and blue; in a dumped config a list."""

Place = Annotated[float, Within(-1.0, 1.0), OR_DRAWN]
Extent = Annotated[float, Within(0.01, 2.0), OR_DRAWN]
Area = Annotated[tuple[Place, Place, Extent, Extent], Strict(False), OR_DRAWN]
"""Left, top, width and height, in sides of the screen."""

Size = Annotated[float, Within(0.01, 0.5), OR_DRAWN]
Speed = Annotated[float, Within(0.0, 0.2), OR_DRAWN]
"""Sides of the screen a tick; a step has two."""

Share = Annotated[float, Within(0.0, 1.0), OR_DRAWN]
Shift = Annotated[float, Within(-1.0, 1.0), OR_DRAWN]
Count = Annotated[int, Within(1, 30), OR_DRAWN]
Points = Annotated[float, Within(-100.0, 100.0), OR_DRAWN]


class Section(BaseModel):
    """A table of a config; other keys are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Meta(Section):
    """The game's description and its limit of steps."""

    description: str = ""
    max_episode_length: Annotated[int, Within(1, 1_000_000), OR_DRAWN] = 5000  # steps


class Actions(Section):
    """Actions of the player; any other action is a noop."""

    up: bool = False
    down: bool = False
    left: bool = True
    right: bool = True
    fire: bool = False


class GameElements(Section):
    """Elements of the game. Walls at the sides are always there."""

    top_wall: bool = False
    bottom_wall: bool = False
    ball: bool = False
    opponent: bool = False
    blocks: bool = False
    static_barriers: bool = False
    maze: bool = False


class DisplaySettings(Section):
    """Colours around the game: its ground, the bars, and what they indicate."""

    background_color: Color = (12, 12, 24)
    ui_color: Color = (70, 70, 90)
    indicator_color_1: Color = (240, 210, 120)
    indicator_color_2: Color = (30, 30, 40)


class PlayerSettings(Section):
    """The player, who starts at the bottom."""

    width: Size = 0.2
    height: Size = 0.03
    speed: Speed = 0.01
    color: Color = (240, 240, 240)
    steering: Share = 0.5  # of a ball's new direction that depends on where it hits the player


class OpponentSettings(Section):
    """The opponent, at the top."""

    width: Size = 0.2
    height: Size = 0.03
    speed: Speed = 0.01
    color: Color = (240, 60, 120)
    skill_level: Share = 0.5  # of its decisions that are not random
    can_shoot: bool = False
    tracks_ball: bool = False


class BallSettings(Section):
    """The balls; a harmful one is a ring, and ends the game if it touches the player."""

    size: Size = 0.05
    speed: Speed = 0.011
    color: Color = (255, 170, 40)
    harmful: bool = False
    num_balls: Annotated[int, Within(1, 3), OR_DRAWN] = 1


class GridSettings(Section):
    """Rectangles in a grid over an area."""

    creation_area: Area = (0.036, 0.127, 0.929, 0.286)
    rows: Count = 4
    cols: Count = 6
    per_row: Annotated[int | Literal["full"], Within(0, 30, "full"), OR_DRAWN] = (
        "full"  # chosen at random
    )
    spacing: Annotated[float, Within(-0.1, 0.9), OR_DRAWN] = 0.15  # of a cell that stays free
    clear_path: bool = False  # leave a random path from bottom to top


class BlocksSettings(GridSettings):
    """Blocks to collect with the player, a ball or a shot; harmful ones are crossed out."""

    color: Color = (220, 70, 60)
    static_weave_fall: Literal["static", "weave", "fall"] = "static"
    speed: Speed = 0.0
    harmful: bool = False  # ends the game if it touches the player
    points: Annotated[float | Literal["divide"], Within(-100.0, 100.0, "divide"), OR_DRAWN] = (
        "divide"  # 100 among all
    )
    fall_points: Points = -100.0  # for each that falls out of the screen


class StaticBarrierSettings(GridSettings):
    """Barriers; `color` is that of all walls."""

    creation_area: Area = (0.4, 0.4, 0.2, 0.2)
    rows: Count = 1
    cols: Count = 1
    spacing: Annotated[float, Within(-0.1, 0.9), OR_DRAWN] = 0.0
    color: Color = (130, 110, 210)


class MazeSettings(Section):
    """A maze with one path between any two cells, and one opening each at bottom and top."""

    creation_area: Area = (0.005, 0.1, 0.99, 0.68)
    rows: Annotated[int, Within(1, 12), OR_DRAWN] = 4
    cols: Annotated[int, Within(1, 12), OR_DRAWN] = 5
    thickness: Annotated[float, Within(0.01, 0.1), OR_DRAWN] = 0.025


class ImageSettings(Section):
    """Changes to the finished picture, including the bars."""

    color_inversion: bool = False  # after the shifts
    rotation: Annotated[int, Within(0, 3), OR_DRAWN] = 0  # quarter turns, counter-clockwise
    hue_shift: Shift = 0.0
    saturation_shift: Shift = 0.0
    value_shift: Shift = 0.0


class Game(Section):
    """A whole config."""

    meta: Meta = Meta()
    actions: Actions = Actions()
    game_elements: GameElements = GameElements()
    display_settings: DisplaySettings = DisplaySettings()
    player_settings: PlayerSettings = PlayerSettings()
    opponent_settings: OpponentSettings = OpponentSettings()
    ball_settings: BallSettings = BallSettings()
    blocks_settings: BlocksSettings = BlocksSettings()
    static_barrier_settings: StaticBarrierSettings = StaticBarrierSettings()
    maze_settings: MazeSettings = MazeSettings()
    image_settings: ImageSettings = ImageSettings()
