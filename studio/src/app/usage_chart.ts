/** The geometry of a chart with one bar for each day. */

export interface Bar {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The smallest height of a bar whose value is not zero, so that it can be seen. */
const LEAST_PX = 2;

/** Bars from the left to the right; a value that is not known has none. */
export function bars(
  values: readonly (number | null)[],
  width: number,
  height: number,
): (Bar | null)[] {
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  const step = width / Math.max(1, values.length);
  return values.map((value, index) => {
    if (value === null) return null;
    const tall = value <= 0 || most === 0 ? 0 : Math.max(LEAST_PX, (height * value) / most);
    return { x: index * step + step * 0.1, y: height - tall, width: step * 0.8, height: tall };
  });
}
