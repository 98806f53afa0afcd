/** Numbers and times as people read them. */

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
  ["year", Number.POSITIVE_INFINITY],
];

/** "3 minutes ago". */
export function ago(iso: string, now = Date.now()): string {
  let value = (Date.parse(iso) - now) / 1000;
  for (const [unit, count] of STEPS) {
    if (Math.abs(value) < count) return RELATIVE.format(Math.round(value), unit);
    value /= count;
  }
  return iso;
}

/** "1:02.5"; "0:00". */
export function duration(ms: number): string {
  const tenths = Math.round(ms / 100);
  const minutes = Math.floor(tenths / 600);
  const seconds = (tenths % 600) / 10;
  const text = seconds.toFixed(Number.isInteger(seconds) ? 0 : 1);
  return `${minutes}:${seconds < 10 ? "0" : ""}${text}`;
}

/** "1.4 MB". */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

const QUOTA_NAMES: Readonly<Record<string, string>> = {
  concurrent_renders: "Renders at the same time",
  render_minutes: "Minutes of film",
  stored_bytes: "Stored",
  downloaded_bytes: "Downloaded",
  uploaded_bytes: "Copied to destinations",
  concurrent_copies: "Copies at the same time",
  queued_jobs: "Jobs that wait",
  requests_per_minute: "Requests per minute",
};

/** What a quota limits; a new one keeps the name that the API gives it. */
export function quotaName(name: string): string {
  return QUOTA_NAMES[name] ?? name.replaceAll("_", " ");
}

/** "3 of 50"; "1.4 MB of 1.1 TB"; "12". */
export function quota(name: string, used: number | null, limit: number | null): string {
  const text = (value: number): string =>
    name.endsWith("_bytes") ? bytes(value) : value.toLocaleString("en");
  if (used === null) return limit === null ? "no limit" : `at most ${text(limit)}`;
  return limit === null ? text(used) : `${text(used)} of ${text(limit)}`;
}

export function percent(fraction: number): string {
  return `${Math.floor(100 * fraction)} %`;
}

export function shortId(id: string): string {
  return id.slice(0, 8);
}
