"""An application that does nothing, to compare the api with."""

from fastapi import FastAPI

app = FastAPI()


@app.get("/healthz")
async def get_health() -> dict[str, str]:
    return {"status": "ok"}
