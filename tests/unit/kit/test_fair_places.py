"""Places in which owners take turns."""

import asyncio
from contextlib import suppress

from framekiln.kit.fair_places import FairPlaces


class Visit:
    """A task that enters a place, and leaves it when it is told to."""

    def __init__(self, places: FairPlaces, owner: str) -> None:
        self.is_in = False
        self._leave = asyncio.Event()
        self._task = asyncio.create_task(self._stay(places, owner))

    async def _stay(self, places: FairPlaces, owner: str) -> None:
        async with places.place(owner):
            self.is_in = True
            await self._leave.wait()

    async def end(self) -> None:
        self._leave.set()
        await self._task

    async def cancel(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


async def visits(places: FairPlaces, owners: str) -> list[Visit]:
    made = [Visit(places, owner) for owner in owners]
    await settle()
    return made


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def inside(made: list[Visit]) -> list[bool]:
    return [each.is_in for each in made]


async def test_one_owner_cannot_have_all_places() -> None:
    made = await visits(FairPlaces(3, most_of_owner=2), "aaab")
    assert inside(made) == [True, True, False, True]
    await made[3].end()
    await settle()
    assert not made[2].is_in
    await made[0].end()
    await settle()
    assert made[2].is_in


async def test_an_owner_may_have_all_places_without_a_limit() -> None:
    assert inside(await visits(FairPlaces(3), "aaaa")) == [True, True, True, False]


async def test_places_that_are_given_back_go_to_owners_in_turn() -> None:
    made = await visits(FairPlaces(1), "aaabc")
    order = []
    for _ in made:
        number = next(n for n, each in enumerate(made) if each.is_in and n not in order)
        order.append(number)
        await made[number].end()
        await settle()
    assert order == [0, 1, 3, 4, 2]


async def test_a_visit_that_is_cancelled_keeps_no_place() -> None:
    places = FairPlaces(1)
    first, second, third = await visits(places, "aab")
    await second.cancel()
    await first.cancel()
    await settle()
    assert third.is_in
    fourth, fifth = await visits(places, "ab")
    # The turn comes together with the cancellation.
    third_ends = asyncio.create_task(third.end())
    await asyncio.sleep(0)
    await fourth.cancel()
    await third_ends
    await settle()
    assert fifth.is_in
