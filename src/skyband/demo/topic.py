"""What a city talks about: topics with their things, remarks, hours and parts of town."""

from typing import NamedTuple

from skyband.table.words import tokenise


class CityTopic(NamedTuple):
    """One subject of talk.

    `words` are what people follow; `things` are noun phrases that hold them. `kinds` are the districts it belongs to
    (everywhere else it is rarer), `peaks` its hours as (hour, width in hours, height).
    """

    name: str
    colour: str
    words: tuple[str, ...]
    things: tuple[str, ...]
    remarks: tuple[str, ...]
    kinds: tuple[str, ...]
    peaks: tuple[tuple[float, float, float], ...]


TOPICS = (
    CityTopic(
        "breakfast",
        "yellow3",
        ("breakfast", "espresso", "croissants", "pancakes", "bakery"),
        (
            "warm croissants",
            "a double espresso",
            "breakfast with eggs",
            "a stack of pancakes",
            "rye bread from the bakery",
            "breakfast in the sun",
            "the first espresso",
        ),
        ("worth getting up for", "the queue is short", "still warm", "nearly sold out"),
        ("centre", "station", "homes", "market"),
        ((7.8, 0.9, 3.2), (10.2, 1.2, 1.0)),
    ),
    CityTopic(
        "market",
        "green3",
        ("market", "cheese", "flowers", "strawberries", "honey"),
        (
            "strawberries from the farm",
            "a market stall of flowers",
            "mountain cheese",
            "acacia honey",
            "the street market",
            "goat cheese with honey",
            "sunflowers by the bunch",
            "flowers for half the price",
        ),
        ("two for one until noon", "taste before you buy", "the stall is packed", "prices drop at one"),
        ("market", "centre"),
        ((10.0, 1.6, 2.2),),
    ),
    CityTopic(
        "lunch",
        "orange3",
        ("lunch", "soup", "noodles", "dumplings", "terrace"),
        (
            "hand-pulled noodles",
            "pumpkin soup",
            "lunch on the terrace",
            "dumplings with chilli",
            "lunch for two",
            "noodles in broth",
            "a terrace in the shade",
            "onion soup",
        ),
        ("ten minutes to wait", "best of the week", "a table is free", "spicy but good"),
        ("centre", "station", "university", "market"),
        ((12.7, 0.8, 4.2),),
    ),
    CityTopic(
        "jazz",
        "magenta",
        ("jazz", "saxophone", "trumpet", "trio", "swing"),
        (
            "a jazz trio",
            "a saxophone solo",
            "swing dancing to a jazz band",
            "a trumpet and a double bass",
            "late jazz",
            "a piano trio",
            "a trumpet duel",
            "the saxophone player",
            "swing from the thirties",
        ),
        ("the whole street is listening", "the second set starts soon", "no ticket needed", "pure gold", "encore"),
        ("harbour", "arts", "centre"),
        ((12.5, 2.5, 0.25), (21.3, 1.5, 2.4)),
    ),
    CityTopic(
        "concert",
        "orchid",
        ("concert", "choir", "orchestra", "guitar", "festival"),
        (
            "an open-air concert",
            "the cathedral choir",
            "the youth orchestra",
            "a guitar by the water",
            "the festival stage",
            "a choir rehearsal",
            "a guitar duo",
            "the orchestra tuning up",
        ),
        ("goosebumps", "doors are open", "standing room only", "free for children"),
        ("arts", "centre", "park"),
        ((17.0, 2.0, 0.7), (20.0, 1.1, 1.8)),
    ),
    CityTopic(
        "football",
        "bright_green",
        ("football", "match", "goal", "penalty", "derby"),
        (
            "the derby",
            "a goal from thirty metres",
            "football in the street",
            "a penalty in the last minute",
            "the big match",
            "a football scarf",
            "the derby songs",
            "the equalising goal",
            "a match on the big screen",
        ),
        ("what a noise", "nobody is sitting", "scarves everywhere", "the keeper had no chance", "unbelievable"),
        ("stadium", "station"),
        ((13.0, 3.0, 0.35), (22.2, 0.9, 1.1)),
    ),
    CityTopic(
        "weather",
        "deep_sky_blue1",
        ("rain", "umbrella", "thunder", "rainbow", "puddles"),
        (
            "the first drops of rain",
            "a broken umbrella",
            "thunder over the hills",
            "a double rainbow",
            "knee-deep puddles",
            "rain on the roof",
            "umbrella weather",
            "distant thunder",
        ),
        ("run for cover", "it smells of summer", "look up", "everyone is soaked"),
        ("homes", "park", "centre"),
        ((7.0, 1.5, 0.3), (16.0, 3.0, 0.3)),
    ),
    CityTopic(
        "transit",
        "red",
        ("tram", "ferry", "delay", "bicycle", "detour"),
        (
            "a tram delay",
            "the late ferry",
            "a bicycle lane full of vans",
            "a crowded tram",
            "a ferry at sunrise",
            "a detour of twenty minutes",
            "the new tram",
            "a delay on the line",
            "a flat bicycle tyre",
        ),
        ("better walk", "moving again", "allow ten minutes more", "the driver is singing", "no news yet"),
        ("station", "harbour", "centre", "homes"),
        ((8.1, 0.7, 2.6), (17.6, 0.9, 2.8)),
    ),
    CityTopic(
        "study",
        "cyan",
        ("library", "lecture", "books", "poetry", "chess"),
        (
            "a box of free books",
            "a quiet seat in the library",
            "a lecture on comets",
            "poetry at noon",
            "street chess",
            "second-hand books",
            "a lecture on bees",
            "a chess table",
        ),
        ("bring your own pencil", "open to all", "seats left at the back", "until six today"),
        ("university", "centre"),
        ((11.0, 1.6, 1.2), (15.2, 1.6, 1.2)),
    ),
    CityTopic(
        "theatre",
        "light_coral",
        ("theatre", "cinema", "comedy", "puppets", "premiere"),
        (
            "theatre in the courtyard",
            "a silent film at the cinema",
            "stand-up comedy",
            "giant puppets",
            "the premiere",
            "cinema under the stars",
            "a comedy of errors",
            "last theatre tickets",
        ),
        ("two seats left", "I cried laughing", "curtain in ten minutes", "bravo"),
        ("arts", "centre"),
        ((19.4, 1.0, 2.0), (22.0, 0.8, 0.7)),
    ),
    CityTopic(
        "park",
        "chartreuse3",
        ("picnic", "marathon", "running", "yoga", "kites"),
        (
            "a picnic under the limes",
            "the runners of the half marathon",
            "yoga on the lawn",
            "kites in the wind",
            "dogs off the lead",
            "running shoes on the fence",
            "a picnic for thirty",
            "sunrise yoga",
        ),
        ("join in", "bring a blanket", "perfect light", "the ducks approve"),
        ("park", "homes"),
        ((7.2, 0.8, 1.2), (11.5, 1.5, 0.9), (18.3, 1.2, 1.3)),
    ),
    CityTopic(
        "dinner",
        "dark_orange",
        ("dinner", "oysters", "pizza", "tapas", "wine"),
        (
            "oysters on ice",
            "wood-fired pizza",
            "dinner for six",
            "a glass of red wine",
            "tapas at the bar",
            "pizza by the slice",
            "wine from the valley",
            "dinner with a view",
            "tapas and oysters",
        ),
        ("ask for the corner table", "the cook came out to greet us", "worth the wait", "kitchen open late"),
        ("harbour", "centre", "arts"),
        ((19.3, 1.0, 3.4),),
    ),
    CityTopic(
        "shops",
        "pink1",
        ("sale", "vintage", "records", "ceramics", "shoes"),
        (
            "a vintage coat",
            "a crate of old records",
            "blue ceramics",
            "the summer sale",
            "handmade shoes",
            "jazz records for a coin",
            "a sale of ceramics",
            "vintage shoes",
        ),
        ("half price", "cash only", "last pair", "closing down this week"),
        ("market", "centre", "arts"),
        ((15.3, 2.0, 1.9),),
    ),
    CityTopic(
        "night",
        "medium_purple1",
        ("dancing", "disco", "cocktails", "karaoke", "fireworks"),
        (
            "dancing on the tables",
            "a disco in a warehouse",
            "smoky cocktails",
            "karaoke in four languages",
            "fireworks over the water",
            "dancing until closing",
            "disco records",
            "cocktails with basil",
        ),
        ("no dress code", "just getting started", "shoes in hand", "see you at sunrise"),
        ("harbour", "arts", "station"),
        ((22.9, 1.0, 3.6),),
    ),
)

SPOTS = (
    "by the bridge", "on the corner", "under the arches", "behind the church", "on the steps", "in the courtyard",
    "at the fountain", "near the taxi rank", "opposite the post office", "beside the clock", "on the square",
    "next to the pharmacy", "in the passage", "along the wall", "outside the school", "at the kiosk",
)  # fmt: skip

FRAMES = (
    "{Thing} {spot} in {place}: {remark}",
    "{Thing} {spot} in {place}, {remark}",
    "Just found {thing} in {place}, {remark}",
    "{Remark}! {Thing} in {place}",
    "{Thing} {spot}, {remark}. Only in {place}",
    "Anyone else in {place} for {thing}? {Remark}",
    "Now in {place}: {thing}, {remark}",
)

# Said so often that nobody follows them.
SMALL_WORDS = frozenset(
    tokenise(
        "a an and anyone at by else for from get getting had here i in is it just no now of off on one out over see "
        "some still the this to two under until up was what with you your we us be before soon next near behind "
        "beside along outside opposite found only"
    )
)
