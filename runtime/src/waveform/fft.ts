/** The discrete Fourier transform of real samples. Pure. */

/** Magnitudes of the lower half of the spectrum; the number of samples must be a power of two. */
export function magnitudes(samples: Float32Array | Float64Array): Float64Array {
  const size = samples.length;
  if (size < 2 || (size & (size - 1)) !== 0) {
    throw new RangeError(`${size} samples: an FFT needs a power of two`);
  }
  const real = new Float64Array(size);
  const imaginary = new Float64Array(size);
  const shift = 32 - Math.log2(size);
  for (let i = 0; i < size; i += 1) real[reverseBits(i) >>> shift] = samples[i] ?? 0;
  for (let half = 1; half < size; half *= 2) combine(real, imaginary, half);
  const spectrum = new Float64Array(size / 2);
  for (let i = 0; i < spectrum.length; i += 1) {
    spectrum[i] = Math.hypot(real[i] ?? 0, imaginary[i] ?? 0);
  }
  return spectrum;
}

/** One round of butterflies: transforms of `half` samples become transforms of twice as many. */
function combine(real: Float64Array, imaginary: Float64Array, half: number): void {
  for (let k = 0; k < half; k += 1) {
    const angle = (-Math.PI * k) / half;
    const cos = Math.cos(angle);
    const sin = Math.sin(angle);
    for (let even = k; even < real.length; even += 2 * half) {
      const odd = even + half;
      const re = (real[odd] ?? 0) * cos - (imaginary[odd] ?? 0) * sin;
      const im = (real[odd] ?? 0) * sin + (imaginary[odd] ?? 0) * cos;
      real[odd] = (real[even] ?? 0) - re;
      imaginary[odd] = (imaginary[even] ?? 0) - im;
      real[even] = (real[even] ?? 0) + re;
      imaginary[even] = (imaginary[even] ?? 0) + im;
    }
  }
}

function reverseBits(value: number): number {
  let bits = value >>> 0;
  bits = ((bits >>> 1) & 0x55555555) | ((bits & 0x55555555) << 1);
  bits = ((bits >>> 2) & 0x33333333) | ((bits & 0x33333333) << 2);
  bits = ((bits >>> 4) & 0x0f0f0f0f) | ((bits & 0x0f0f0f0f) << 4);
  bits = ((bits >>> 8) & 0x00ff00ff) | ((bits & 0x00ff00ff) << 8);
  return ((bits >>> 16) | (bits << 16)) >>> 0;
}
