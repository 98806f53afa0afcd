/** What the organization used each day, as small charts. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { request, type ResultOf } from "../lib/api.ts";
import { bytes } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { Show } from "../ui/parts.tsx";
import { bars } from "./usage_chart.ts";

type Day = ResultOf<"get", "/api/v1/organization/usage">["days"][number];

const WIDTH = 300;
const HEIGHT = 64;
const SPANS = [7, 30, 90, 365];
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

interface Measure {
  name: string;
  of: (day: Day) => number | null;
  text: (value: number) => string;
  /** Of what is stored, the last day counts; of everything else, the sum. */
  isLevel?: boolean;
}

const MEASURES: readonly Measure[] = [
  {
    name: "Minutes of film",
    of: (day) => day.render_minutes,
    text: (value) => number.format(value),
  },
  { name: "Renders", of: (day) => day.renders, text: (value) => number.format(value) },
  { name: "Stored", of: (day) => day.stored_bytes, text: bytes, isLevel: true },
  { name: "Downloaded", of: (day) => day.downloaded_bytes, text: bytes },
  { name: "Requests", of: (day) => day.requests, text: (value) => number.format(value) },
];

export function UsageCharts(): JSX.Element {
  const [days, setDays] = useState(30);
  const loaded = useLoad(
    () => request("get", "/api/v1/organization/usage", { query: { days } }),
    [days],
  );
  return (
    <>
      <label class="row">
        Last
        <select
          value={days}
          onChange={(event) => setDays(Number(event.currentTarget.value))}
          aria-label="Days of the charts"
        >
          {SPANS.map((each) => (
            <option key={each} value={each}>
              {each} days
            </option>
          ))}
        </select>
      </label>
      <Show of={loaded}>
        {(usage) => (
          <div class="grid">
            {MEASURES.map((measure) => (
              <Chart key={measure.name} measure={measure} days={usage.days} />
            ))}
          </div>
        )}
      </Show>
    </>
  );
}

function Chart({ measure, days }: { measure: Measure; days: readonly Day[] }): JSX.Element {
  const values = days.map(measure.of);
  const known = values.filter((value) => value !== null);
  const total = measure.isLevel
    ? (known.at(-1) ?? 0)
    : known.reduce((sum, value) => sum + value, 0);
  const first = days[0]?.day ?? "";
  const last = days.at(-1)?.day ?? "";
  return (
    <figure class="chart">
      <figcaption>
        {measure.name}: <strong>{measure.text(total)}</strong>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={
          `${measure.name} each day from ${first} to ${last}:` +
          ` ${measure.text(total)}, at most ${measure.text(Math.max(0, ...known))} on a day`
        }
        preserveAspectRatio="none"
      >
        {bars(values, WIDTH, HEIGHT).map(
          (bar, index) =>
            bar && (
              <rect {...bar} key={days[index]!.day}>
                <title>{`${days[index]!.day}: ${measure.text(values[index] ?? 0)}`}</title>
              </rect>
            ),
        )}
      </svg>
      <div class="row spread quiet">
        <span>{first}</span>
        <span>{last}</span>
      </div>
    </figure>
  );
}
