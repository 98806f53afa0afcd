"""Users with a role, logged in at an application."""

from datetime import timedelta
from typing import Final
from uuid import uuid4

import httpx

from framekiln.identity.model import Role
from framekiln.kit.ids import OrganizationId
from tests.support.app import BASE_URL, AppHarness

PASSWORD: Final = "correct horse"
LIFETIME: Final = timedelta(hours=1)


async def browser_of(
    app: AppHarness, organization_id: OrganizationId, role: Role
) -> httpx.AsyncClient:
    """Return a browser with a logged-in user, which sends the origin of our own pages."""
    email = f"{role}-{uuid4()}@example.org"
    await app.services.users.create(email, organization_id, role=role, password=PASSWORD)
    code = await app.services.users.issue_login_code(email, lifetime=LIFETIME)
    transport = httpx.ASGITransport(app.asgi)
    browser = httpx.AsyncClient(
        transport=transport, base_url=BASE_URL, headers={"Origin": BASE_URL}
    )
    answer = await browser.post("/login/code", json={"code": code})
    assert answer.status_code == 200, answer.text
    return browser
