/* Colour conversion, blending, warping, filling and comparison of 8-bit images, the same on every
 * processor.
 *
 * `numpy_kernel.py` does the same in numpy; a test compares both for every colour. The compiler
 * vectorizes these loops, so they are kept simple: no tables, no branches inside. Nothing is
 * allocated, and libc is not used.
 */
#include <stddef.h>
#include <stdint.h>

/* One library serves old and new processors: the loader picks the version that fits. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define EACH_PROCESSOR
#endif
#define EXPORT __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))

/* Other compilers have no shuffle by variable numbers. */
#if defined(__GNUC__) && !defined(__clang__)
#define HAS_SHUFFLE
typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint16_t words8 __attribute__((vector_size(16)));
#endif

/* Columns at a time, an even number: intermediate values stay in the L1 cache. */
#define BLOCK 512

typedef struct {
    uint8_t *data;
    ptrdiff_t stride;
} plane;

INLINE uint8_t clamp(int32_t value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

INLINE uint8_t larger(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

INLINE uint8_t smaller(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* ---- Red, green and blue to BT.709 of limited range, 4:2:0 ---------------------------------- */

/* Luma of an opaque pixel is 16 + 73 n / 425000 with n = 1063 R + 3576 G + 361 B: exact.
 * Chroma is 16 + 28 m / (255 k), where m is a sum over four pixels that is never below zero, and k
 * is 4639 for blue, 3937 for red. Division is a multiplication by the reciprocal, rounded up so
 * that a tie goes up; its error is far smaller than the distance of any other quotient from a tie.
 * With alpha the offset of 16 becomes a part of the numerator. */
INLINE uint8_t quotient(uint32_t numerator, uint32_t reciprocal, int shift)
{
    uint32_t high = (uint32_t)(((uint64_t)numerator * reciprocal) >> 32);
    return (uint8_t)((high + (1u << (shift - 1))) >> shift);
}

#define OPAQUE_LUMA 3021716662u /* ceil(2^44 * 73 / 425000) */
#define OPAQUE_BLUE 3331219689u /* ceil(2^47 * 28 / (255 * 4639)) */
#define OPAQUE_RED 3925203997u  /* ceil(2^47 * 28 / (255 * 3937)) */
#define LUMA 3532235002u        /* ceil(2^52 / 1275000) */
#define BLUE 3807108215u        /* ceil(2^52 / (255 * 4639)) */
#define RED 2242973713u         /* ceil(2^51 / (255 * 3937)) */

/* NEON multiplies 16 bits to 32 faster than 32 to 32; on AVX2 it makes no difference. */
#if defined(__aarch64__)
typedef uint16_t number;
#else
typedef uint32_t number;
#endif

INLINE uint32_t times(number value, number weight)
{
    return (uint32_t)value * weight;
}

INLINE uint32_t at_least_zero(int32_t value)
{
    return value < 0 ? 0 : (uint32_t)value;
}

INLINE void luma_row(const uint32_t *restrict row, int width, int red, int blue, int has_alpha,
                     uint8_t *restrict y)
{
    for (int x = 0; x < width; x++) {
        uint32_t p = row[x];
        number r = (uint8_t)(p >> red), g = (uint8_t)(p >> 8), b = (uint8_t)(p >> blue);
        uint32_t weighted = times(r, 1063) + times(g, 3576) + times(b, 361);
        y[x] = has_alpha ? quotient(219 * weighted + 80000 * (p >> 24), LUMA, 20)
                         : (uint8_t)(16 + quotient(weighted, OPAQUE_LUMA, 12));
    }
}

/* Sums of the four pixels of each square, two in each number; an odd last column counts twice. */
INLINE int square_sums(const uint32_t *restrict top, const uint32_t *restrict bottom, int columns,
                       uint32_t *restrict even, uint32_t *restrict odd)
{
    const uint32_t mask = 0x00ff00ff;
    int pairs = columns / 2;
    for (int x = 0; x < pairs; x++) {
        uint32_t a = top[2 * x], b = top[2 * x + 1], c = bottom[2 * x], d = bottom[2 * x + 1];
        even[x] = (a & mask) + (b & mask) + (c & mask) + (d & mask);
        odd[x] = ((a >> 8) & mask) + ((b >> 8) & mask) + ((c >> 8) & mask) + ((d >> 8) & mask);
    }
    if (columns % 2) {
        uint32_t a = top[columns - 1], c = bottom[columns - 1];
        even[pairs] = 2 * ((a & mask) + (c & mask));
        odd[pairs] = 2 * (((a >> 8) & mask) + ((c >> 8) & mask));
        pairs++;
    }
    return pairs;
}

INLINE void opaque_chroma(const uint32_t *restrict even, const uint32_t *restrict odd, int pairs,
                          int red, int blue, uint8_t *restrict u, uint8_t *restrict v)
{
    for (int x = 0; x < pairs; x++) {
        number r = (uint16_t)(even[x] >> red), b = (uint16_t)(even[x] >> blue);
        number g = (uint16_t)odd[x];
        number no_red = (number)(1020 - r), no_green = (number)(1020 - g),
               no_blue = (number)(1020 - b);
        uint32_t bluer = times(b, 4639) + times(no_red, 1063) + times(no_green, 3576);
        uint32_t redder = times(r, 3937) + times(no_green, 3576) + times(no_blue, 361);
        u[x] = (uint8_t)(16 + quotient(bluer, OPAQUE_BLUE, 15));
        v[x] = (uint8_t)(16 + quotient(redder, OPAQUE_RED, 15));
    }
}

INLINE void covered_chroma(const uint32_t *restrict even, const uint32_t *restrict odd, int pairs,
                           int red, int blue, uint8_t *restrict u, uint8_t *restrict v,
                           uint8_t *restrict alpha)
{
    for (int x = 0; x < pairs; x++) {
        int32_t r = (even[x] >> red) & 0xffff, b = (even[x] >> blue) & 0xffff;
        int32_t g = odd[x] & 0xffff, a = (int32_t)(odd[x] >> 16);
        int32_t bluer = 4639 * b - 1063 * r - 3576 * g, redder = 3937 * r - 3576 * g - 361 * b;
        u[x] = quotient(at_least_zero(28 * bluer + 32 * 4639 * a), BLUE, 20);
        v[x] = quotient(at_least_zero(28 * redder + 32 * 3937 * a), RED, 19);
        alpha[x] = (uint8_t)((a + 2) >> 2);
    }
}

INLINE void chroma_row(const uint32_t *upper, const uint32_t *lower, int width, int red, int blue,
                       uint8_t *u, uint8_t *v, uint8_t *half_alpha)
{
    uint32_t even[BLOCK / 2], odd[BLOCK / 2];
    for (int left = 0; left < width; left += BLOCK) {
        int columns = width - left < BLOCK ? width - left : BLOCK, half = left / 2;
        int pairs = square_sums(upper + left, lower + left, columns, even, odd);
        if (half_alpha)
            covered_chroma(even, odd, pairs, red, blue, u + half, v + half, half_alpha + half);
        else
            opaque_chroma(even, odd, pairs, red, blue, u + half, v + half);
    }
}

INLINE void pixels_to_yuv420(plane pixels, int width, int height, int red, int blue, plane y,
                             plane u, plane v, plane alpha)
{
    int has_alpha = alpha.data != NULL;
    for (int row = 0; row < height; row += 2) {
        const uint32_t *upper = (const uint32_t *)(pixels.data + row * pixels.stride);
        const uint32_t *lower = upper;
        luma_row(upper, width, red, blue, has_alpha, y.data + row * y.stride);
        if (row + 1 < height) {
            lower = (const uint32_t *)(pixels.data + (row + 1) * pixels.stride);
            luma_row(lower, width, red, blue, has_alpha, y.data + (row + 1) * y.stride);
        }
        chroma_row(upper, lower, width, red, blue, u.data + row / 2 * u.stride,
                   v.data + row / 2 * v.stride,
                   has_alpha ? alpha.data + row / 2 * alpha.stride : NULL);
    }
}

EXPORT EACH_PROCESSOR void framekiln_bgra_to_yuv420(plane pixels, int width, int height, plane y,
                                                    plane u, plane v)
{
    plane none = {NULL, 0};
    pixels_to_yuv420(pixels, width, height, 16, 0, y, u, v, none);
}

EXPORT EACH_PROCESSOR void framekiln_rgba_to_yuv420(plane pixels, int width, int height, plane y,
                                                    plane u, plane v)
{
    plane none = {NULL, 0};
    pixels_to_yuv420(pixels, width, height, 0, 16, y, u, v, none);
}

/* Colours are premultiplied by alpha; so are the planes, including their offsets. */
EXPORT EACH_PROCESSOR void framekiln_premultiplied_rgba_to_yuv420(plane pixels, int width,
                                                                  int height, plane y, plane u,
                                                                  plane v, plane half_alpha)
{
    pixels_to_yuv420(pixels, width, height, 0, 16, y, u, v, half_alpha);
}

/* ---- Planes to red, green and blue ------------------------------------------------------------ */

/* Exact. A level of luma is 85 parts of 73 that make a level of a colour (in full range, 72 of 72),
 * so a colour is (85 Y + n) / 73, rounded down, where n is a whole number that depends on chroma
 * alone: it may be rounded down before luma is added. For red and blue, 16 fractional bits give the
 * right n for all 256 samples; green needs 38 for all pairs of them, in two numbers of 32 bits.
 * `colours.py` computes the weights. Offsets include half a level for rounding, and 255 levels of
 * luma, so that nothing is below zero; sums are modulo 2^32. */
typedef struct {
    uint32_t is_full_range;
    uint32_t red_red, red_offset, blue_blue, blue_offset;
    uint32_t green_blue, green_red, green_offset;
    uint32_t green_blue_low, green_red_low, green_offset_low; /* the last 22 bits */
} rgb_weights;

INLINE uint16_t green_term(uint32_t blue, uint32_t red, const rgb_weights *w)
{
    uint32_t low = w->green_blue_low * blue + w->green_red_low * red + w->green_offset_low;
    uint32_t high = w->green_blue * blue + w->green_red * red + w->green_offset;
    return (uint16_t)((high + (low >> 22)) >> 16);
}

/* Each chroma sample applies to all pixels of its square. */
INLINE void rgb_terms(const uint8_t *restrict u, const uint8_t *restrict v, int columns, int halved,
                      const rgb_weights *w, uint16_t *restrict red, uint16_t *restrict green,
                      uint16_t *restrict blue)
{
    if (halved) {
        for (int x = 0; x < (columns + 1) / 2; x++) {
            red[2 * x] = red[2 * x + 1] =
                (uint16_t)((w->red_red * v[x] + w->red_offset) >> 16);
            green[2 * x] = green[2 * x + 1] = green_term(u[x], v[x], w);
            blue[2 * x] = blue[2 * x + 1] =
                (uint16_t)((w->blue_blue * u[x] + w->blue_offset) >> 16);
        }
        return;
    }
    for (int x = 0; x < columns; x++) {
        red[x] = (uint16_t)((w->red_red * v[x] + w->red_offset) >> 16);
        green[x] = green_term(u[x], v[x], w);
        blue[x] = (uint16_t)((w->blue_blue * u[x] + w->blue_offset) >> 16);
    }
}

/* Return 64 times the level, and a rest, for luma and the terms of chroma. All in 16 bits, without a
 * sign: twice as many at a time as in 32. `luma` and `parts` are constants. */
INLINE uint16_t quotient_64(uint16_t biased, int luma, int parts)
{
    uint16_t bias = (uint16_t)(255 * luma), most = (uint16_t)(256 * parts - 1);
    uint16_t given = (uint16_t)((biased > bias ? biased : bias) - bias);
    given = given < most ? given : most;
    return (uint16_t)(((uint32_t)given * (uint32_t)(((1 << 22) + parts - 1) / parts)) >> 16);
}

/* In two loops: in one, the compiler would join both shifts and multiply in 32 bits. */
INLINE void rgba_row(const uint8_t *restrict y, int columns, int luma, int parts,
                     const uint16_t *restrict red, const uint16_t *restrict green,
                     const uint16_t *restrict blue, uint16_t *restrict out)
{
    uint16_t r[BLOCK], g[BLOCK], b[BLOCK];
    for (int x = 0; x < columns; x++) {
        uint16_t bright = (uint16_t)(luma * y[x]);
        r[x] = quotient_64((uint16_t)(bright + red[x]), luma, parts);
        g[x] = quotient_64((uint16_t)(bright + green[x]), luma, parts);
        b[x] = quotient_64((uint16_t)(bright + blue[x]), luma, parts);
    }
    for (int x = 0; x < columns; x++) {
        out[2 * x] = (uint16_t)(r[x] >> 6 | (g[x] & 0xffc0) << 2);
        out[2 * x + 1] = (uint16_t)(b[x] >> 6 | 0xff00);
    }
}

EXPORT EACH_PROCESSOR void framekiln_yuv_to_rgba(plane y, plane u, plane v, plane alpha, int width,
                                                 int height, int halved_across, int halved_down,
                                                 const rgb_weights *weights, plane pixels)
{
    uint16_t red[BLOCK], green[BLOCK], blue[BLOCK];
    rgb_weights w = *weights;
    for (int row = 0; row < height; row += 1 + halved_down) {
        int rows = halved_down && row + 1 < height ? 2 : 1;
        const uint8_t *us = u.data + (row >> halved_down) * u.stride;
        const uint8_t *vs = v.data + (row >> halved_down) * v.stride;
        for (int left = 0; left < width; left += BLOCK) {
            int columns = width - left < BLOCK ? width - left : BLOCK;
            int first = left >> halved_across;
            rgb_terms(us + first, vs + first, columns, halved_across, &w, red, green, blue);
            for (int below = 0; below < rows; below++) {
                const uint8_t *ys = y.data + (row + below) * y.stride + left;
                uint8_t *out = pixels.data + (row + below) * pixels.stride + 4 * left;
                if (w.is_full_range)
                    rgba_row(ys, columns, 72, 72, red, green, blue, (uint16_t *)out);
                else
                    rgba_row(ys, columns, 85, 73, red, green, blue, (uint16_t *)out);
                if (alpha.data) {
                    const uint8_t *cover = alpha.data + (row + below) * alpha.stride + left;
                    for (int x = 0; x < columns; x++)
                        out[4 * x + 3] = cover[x];
                }
            }
        }
    }
}

/* ---- Planes to planes of another colour space ------------------------------------------------- */

/* Weights with `FRACTION` fractional bits; `colours.py` computes them. */
#define FRACTION 21

typedef struct {
    int32_t luma, luma_blue, luma_red, luma_offset; /* offsets include half a level */
    int32_t blue_blue, blue_red, blue_offset;
    int32_t red_blue, red_red, red_offset;
} plane_weights;

/* Another matrix or another range, 4:2:0. Chroma depends on chroma alone: grey stays grey. */
EXPORT EACH_PROCESSOR void framekiln_yuv420_to_yuv420(plane y, plane u, plane v, int width,
                                                      int height, const plane_weights *weights,
                                                      plane to_y, plane to_u, plane to_v)
{
    int32_t shift[BLOCK];
    plane_weights w = *weights;
    for (int row = 0; row < height; row += 2) {
        int rows = row + 1 < height ? 2 : 1;
        for (int left = 0; left < width; left += BLOCK) {
            int columns = width - left < BLOCK ? width - left : BLOCK;
            int pairs = (columns + 1) / 2;
            const uint8_t *us = u.data + row / 2 * u.stride + left / 2;
            const uint8_t *vs = v.data + row / 2 * v.stride + left / 2;
            uint8_t *u_out = to_u.data + row / 2 * to_u.stride + left / 2;
            uint8_t *v_out = to_v.data + row / 2 * to_v.stride + left / 2;
            for (int x = 0; x < pairs; x++) {
                int32_t blue = us[x], red = vs[x];
                int32_t each = w.luma_blue * blue + w.luma_red * red + w.luma_offset;
                shift[2 * x] = shift[2 * x + 1] = each;
                u_out[x] = clamp((w.blue_blue * blue + w.blue_red * red + w.blue_offset) >> FRACTION);
                v_out[x] = clamp((w.red_blue * blue + w.red_red * red + w.red_offset) >> FRACTION);
            }
            for (int below = 0; below < rows; below++) {
                const uint8_t *ys = y.data + (row + below) * y.stride + left;
                uint8_t *out = to_y.data + (row + below) * to_y.stride + left;
                for (int x = 0; x < columns; x++)
                    out[x] = clamp((w.luma * ys[x] + shift[x]) >> FRACTION);
            }
        }
    }
}

/* ---- Blending: planes of bytes, where alpha 255 is opaque -------------------------------------- */

/* a b / 255, rounded to nearest: exact for all bytes, and there are no ties. */
INLINE uint8_t share(uint8_t a, uint8_t b)
{
    uint16_t scaled = (uint16_t)(a * b + 128);
    return (uint8_t)((uint16_t)(scaled + (scaled >> 8)) >> 8);
}

EXPORT EACH_PROCESSOR void framekiln_cover(plane values, plane alpha, int width, int height,
                                           plane out)
{
    for (int row = 0; row < height; row++) {
        const uint8_t *restrict a = values.data + row * values.stride;
        const uint8_t *restrict b = alpha.data + row * alpha.stride;
        uint8_t *to = out.data + row * out.stride;
        for (int x = 0; x < width; x++)
            to[x] = share(a[x], b[x]);
    }
}

/* Blend `values`, which are premultiplied by alpha, over the existing plane. */
EXPORT EACH_PROCESSOR void framekiln_over(plane values, plane alpha, int width, int height,
                                          plane below)
{
    for (int row = 0; row < height; row++) {
        const uint8_t *restrict a = values.data + row * values.stride;
        const uint8_t *restrict b = alpha.data + row * alpha.stride;
        uint8_t *restrict to = below.data + row * below.stride;
        for (int x = 0; x < width; x++) {
            uint16_t sum = (uint16_t)(a[x] + share(to[x], (uint8_t)(255 - b[x])));
            to[x] = (uint8_t)(sum > 255 ? 255 : sum);
        }
    }
}

/* The same with an opacity of 14 fractional bits, rounded once: `half` of 255 << 14 rounds to
 * nearest, less of it down. All of it fits into 32 bits, even where a value is above its alpha. */
EXPORT EACH_PROCESSOR void framekiln_over_faded(plane values, plane alpha, int width, int height,
                                                int opacity, int half, plane below)
{
    uint32_t faded = (uint32_t)opacity, rounding = (uint32_t)half;
    for (int row = 0; row < height; row++) {
        const uint8_t *restrict a = values.data + row * values.stride;
        const uint8_t *restrict b = alpha.data + row * alpha.stride;
        uint8_t *restrict to = below.data + row * below.stride;
        for (int x = 0; x < width; x++) {
            uint32_t left = (255u << 14) - b[x] * faded;
            uint32_t whole = (a[x] * faded * 255u + to[x] * left + rounding) >> 14;
            whole = whole > 65279u ? 65279u : whole;
            /* Divided by 255: exact below 65535. */
            to[x] = (uint8_t)((whole + 1 + (whole >> 8)) >> 8);
        }
    }
}

/* Weights have 16 fractional bits. Weights that sum to at most 1 need no clamp and fewer bits. */
EXPORT EACH_PROCESSOR void framekiln_weighted(plane one, int one_weight, plane other,
                                              int other_weight, int width, int height, plane out)
{
    int are_shares = one_weight >= 0 && one_weight < 65536 && other_weight >= 0 &&
                     other_weight < 65536 && one_weight + other_weight <= 65536;
    number one_share = (number)one_weight, other_share = (number)other_weight;
    for (int row = 0; row < height; row++) {
        const uint8_t *a = one.data + row * one.stride, *b = other.data + row * other.stride;
        uint8_t *to = out.data + row * out.stride;
        if (are_shares)
            for (int x = 0; x < width; x++)
                to[x] = (uint8_t)((times(a[x], one_share) + times(b[x], other_share) + 32768) >> 16);
        else
            for (int x = 0; x < width; x++)
                to[x] = clamp((a[x] * one_weight + b[x] * other_weight + 32768) >> 16);
    }
}

/* The inverse of cover. Single precision suffices: ties are exact, all else is far from one. */
EXPORT EACH_PROCESSOR void framekiln_uncover(plane values, plane alpha, int width, int height,
                                             int nothing, plane out)
{
    for (int row = 0; row < height; row++) {
        const uint8_t *restrict a = values.data + row * values.stride;
        const uint8_t *restrict b = alpha.data + row * alpha.stride;
        uint8_t *restrict to = out.data + row * out.stride;
        for (int x = 0; x < width; x++) {
            float cover = b[x] ? b[x] : 1;
            int32_t whole = (int32_t)(a[x] * 255.0f / cover + 0.5f);
            to[x] = b[x] ? clamp(whole) : (uint8_t)nothing;
        }
    }
}

/* ---- Transparency: BGRA pixels drawn on white and on black --------------------------------------- */

/* To premultiplied RGBA: what differs is transparent. Pixels on white may themselves be translucent,
 * and then have nothing behind them yet. */
EXPORT EACH_PROCESSOR void framekiln_recover_alpha(plane white, plane black, int width, int height,
                                                   plane out)
{
    for (int row = 0; row < height; row++) {
        const uint8_t *restrict above = white.data + row * white.stride;
        const uint8_t *restrict below = black.data + row * black.stride;
        uint8_t *restrict to = out.data + row * out.stride;
        for (int x = 0; x < 4 * width; x += 4) {
            int32_t behind = 255 - above[x + 3];
            uint8_t blue = clamp(above[x] + behind - below[x]);
            uint8_t green = clamp(above[x + 1] + behind - below[x + 1]);
            uint8_t red = clamp(above[x + 2] + behind - below[x + 2]);
            uint8_t alpha = (uint8_t)(255 - smaller(smaller(blue, green), red));
            to[x] = smaller(below[x + 2], alpha);
            to[x + 1] = smaller(below[x + 1], alpha);
            to[x + 2] = smaller(below[x], alpha);
            to[x + 3] = alpha;
        }
    }
}

/* ---- Filling ---------------------------------------------------------------------------------- */

/* A surface between four edges, which `numpy_kernel.py` computes in the same order. `across` and
 * `down` grow from 0 to 1; the corners are in rows. */
EXPORT EACH_PROCESSOR void framekiln_surface(const float *restrict across,
                                             const float *restrict down,
                                             const float *restrict top,
                                             const float *restrict bottom,
                                             const float *restrict left,
                                             const float *restrict right,
                                             const float *restrict corners, int width, int height,
                                             plane out)
{
    float first = corners[0], second = corners[1], third = corners[2], fourth = corners[3];
    for (int row = 0; row < height; row++) {
        float v = down[row], up = 1.0f - v, before = left[row], after = right[row];
        uint8_t *restrict to = out.data + row * out.stride;
        for (int x = 0; x < width; x++) {
            float u = across[x], back = 1.0f - u;
            float bent = back * up * first + u * up * second + back * v * third + u * v * fourth;
            float smooth = up * top[x] + v * bottom[x] + back * before + u * after - bent;
            to[x] = clamp((int32_t)(smooth + 0.5f));
        }
    }
}

/* ---- Warping: each pixel of the target is interpolated between four pixels of the source --------- */

/* Maps indexes of target pixels to those of source pixels; 32 fractional bits. */
typedef struct {
    int64_t across_x, down_x, start_x;
    int64_t across_y, down_y, start_y;
} warp_map;

/* Positions are rounded to 1/256 of a pixel. */
#define HALF_SHARE (1 << 23)
/* Columns that are interpolated at once, and the first half of one with the second of another. */
#define GROUP 8
#define HALVES 0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31
/* Four columns and their neighbours lie in 16 bytes. */
#define MAX_GROUPED_STEP (4 * ONE_PIXEL)
#define ONE_PIXEL ((int64_t)1 << 32)

INLINE int32_t share_of(int64_t rounded)
{
    return (int32_t)((rounded >> 24) & 255);
}

/* The pixel at an index: outside of the source its edge if it `extends`, otherwise nothing. */
INLINE int32_t pixel_at(const uint8_t *row, int64_t x, int width, int extends)
{
    if (x >= 0 && x < width)
        return row[x];
    return extends ? row[x < 0 ? 0 : width - 1] : 0;
}

/* Two neighbours in a row, weighted by their shares of 256. */
INLINE uint16_t across_edge(const uint8_t *row, int64_t rounded, int width, int extends)
{
    int64_t x = rounded >> 32;
    int32_t share = share_of(rounded);
    return (uint16_t)(pixel_at(row, x, width, extends) * (256 - share) +
                      pixel_at(row, x + 1, width, extends) * share);
}

INLINE uint16_t across_inside(const uint8_t *row, int32_t share)
{
    return (uint16_t)(256 * row[0] + share * (row[1] - row[0]));
}

INLINE uint8_t down_between(uint32_t above, uint32_t below, int32_t share)
{
    return (uint8_t)((above * (uint32_t)(256 - share) + below * (uint32_t)share + 32768) >> 16);
}

/* The part of [begin, end) in which both neighbours of a position are inside of the source. */
INLINE void keep_inside(int64_t start, int64_t step, int length, int *begin, int *end)
{
    int64_t low = -start, high = (length - 1) * ONE_PIXEL - 1 - start;
    if (step < 0) {
        int64_t swapped = -low;
        low = -high, high = swapped, step = -step;
    }
    if (step == 0) {
        if (low > 0 || high < 0)
            *end = *begin;
        return;
    }
    int64_t first = low <= 0 ? 0 : (low + step - 1) / step;
    int64_t stop = high < 0 ? 0 : high / step + 1;
    *begin = first > *end ? *end : first > *begin ? (int)first : *begin;
    *end = stop < *begin ? *begin : stop < *end ? (int)stop : *end;
}

/* Which pixels of a row of the source are between those of up to BLOCK columns of the target. */
typedef struct {
    int64_t start, step;
    int columns;
    int begin, grouped, end; /* Groups are in [begin, grouped); all in [begin, end) are inside. */
    int32_t firsts[BLOCK], shares[BLOCK];
#ifdef HAS_SHUFFLE
    bytes16 picks[BLOCK / GROUP];
    words8 parts[BLOCK / GROUP];
#endif
} column_map;

#ifdef HAS_SHUFFLE
/* Eight columns at once: each half of them lies in 16 bytes of the source. */
INLINE words8 across_group(const uint8_t *one, const uint8_t *other, bytes16 picks, words8 parts)
{
    bytes16 left, right;
    __builtin_memcpy(&left, one, sizeof left);
    __builtin_memcpy(&right, other, sizeof right);
    left = __builtin_shuffle(left, picks);
    right = __builtin_shuffle(right, picks);
    words8 pairs = (words8)__builtin_shuffle(left, right, (bytes16){HALVES});
    words8 first = pairs & 255, second = pairs >> 8;
    /* Modulo 2^16, of which the result is a part. */
    return (first << 8) + parts * (second - first);
}

INLINE void map_groups(column_map *map, int width)
{
    int is_close = map->step > 0 && map->step <= MAX_GROUPED_STEP;
    for (int x = map->begin; is_close && x + GROUP <= map->end; x += GROUP) {
        if (map->firsts[x + GROUP / 2] + 16 > width)
            break;
        bytes16 picks;
        words8 parts;
        for (int each = 0; each < GROUP; each++) {
            int32_t base = map->firsts[x + each / (GROUP / 2) * (GROUP / 2)];
            picks[2 * each] = (uint8_t)(map->firsts[x + each] - base);
            picks[2 * each + 1] = (uint8_t)(picks[2 * each] + 1);
            parts[each] = (uint16_t)map->shares[x + each];
        }
        map->picks[(x - map->begin) / GROUP] = picks;
        map->parts[(x - map->begin) / GROUP] = parts;
        map->grouped = x + GROUP;
    }
}
#endif

INLINE void map_columns(column_map *map, int width)
{
    map->begin = 0, map->end = map->columns;
    keep_inside(map->start, map->step, width, &map->begin, &map->end);
    for (int x = map->begin; x < map->end; x++) {
        int64_t rounded = map->start + map->step * x;
        map->firsts[x] = (int32_t)(rounded >> 32);
        map->shares[x] = share_of(rounded);
    }
    map->grouped = map->begin;
#ifdef HAS_SHUFFLE
    map_groups(map, width);
#endif
}

/* One row of the source, or the nothing beyond it, at the columns of the target. */
INLINE void warp_row(const uint8_t *restrict row, int width, int extends,
                     const column_map *restrict map, uint16_t *restrict out)
{
    for (int x = 0; x < map->begin; x++)
        out[x] = across_edge(row, map->start + map->step * x, width, extends);
#ifdef HAS_SHUFFLE
    for (int x = map->begin; x < map->grouped; x += GROUP) {
        int group = (x - map->begin) / GROUP;
        words8 made = across_group(row + map->firsts[x], row + map->firsts[x + GROUP / 2],
                                   map->picks[group], map->parts[group]);
        __builtin_memcpy(out + x, &made, sizeof made);
    }
#endif
    for (int x = map->grouped; x < map->end; x++)
        out[x] = across_inside(row + map->firsts[x], map->shares[x]);
    for (int x = map->end; x < map->columns; x++)
        out[x] = across_edge(row, map->start + map->step * x, width, extends);
}

/* Without rotation, columns are the same in all rows: interpolate each row of the source once. */
INLINE void warp_upright(plane source, int source_width, int source_height, warp_map map,
                         int extends, int width, int height, plane out)
{
    column_map across;
    uint16_t rows[2][BLOCK];
    for (int left = 0; left < width; left += BLOCK) {
        across.columns = width - left < BLOCK ? width - left : BLOCK;
        across.start = map.start_x + map.across_x * left + HALF_SHARE;
        across.step = map.across_x;
        map_columns(&across, source_width);
        /* Even rows are in one buffer and odd rows in the other, so both neighbours fit. */
        int64_t kept[2] = {INT64_MIN, INT64_MIN};
        for (int y = 0; y < height; y++) {
            int64_t rounded = map.start_y + map.down_y * y + HALF_SHARE, top = rounded >> 32;
            for (int64_t wanted = top; wanted <= top + 1; wanted++) {
                uint16_t *to = rows[wanted & 1];
                if (kept[wanted & 1] == wanted)
                    continue;
                kept[wanted & 1] = wanted;
                int is_inside = wanted >= 0 && wanted < source_height;
                int64_t nearest = is_inside ? wanted : wanted < 0 ? 0 : source_height - 1;
                if (is_inside || extends)
                    warp_row(source.data + nearest * source.stride, source_width, extends, &across,
                             to);
                else
                    for (int x = 0; x < across.columns; x++)
                        to[x] = 0;
            }
            const uint16_t *above = rows[top & 1], *below = rows[(top + 1) & 1];
            uint8_t *restrict to = out.data + y * out.stride + left;
            number low = (number)share_of(rounded), high = (number)(256 - low);
            for (int x = 0; x < across.columns; x++)
                to[x] = (uint8_t)((times(above[x], high) + times(below[x], low) + 32768) >> 16);
        }
    }
}

INLINE uint8_t turned_edge(plane source, int width, int height, int64_t at_x, int64_t at_y,
                           int extends)
{
    uint16_t sums[2];
    for (int each = 0; each < 2; each++) {
        int64_t y = (at_y >> 32) + each;
        int is_inside = y >= 0 && y < height;
        const uint8_t *row = source.data + (is_inside ? y : y < 0 ? 0 : height - 1) * source.stride;
        sums[each] = is_inside || extends ? across_edge(row, at_x, width, extends) : 0;
    }
    return down_between(sums[0], sums[1], share_of(at_y));
}

INLINE void warp_turned(plane source, int source_width, int source_height, warp_map map,
                        int extends, int width, int height, plane out)
{
    for (int y = 0; y < height; y++) {
        int64_t at_x = map.start_x + map.down_x * y + HALF_SHARE;
        int64_t at_y = map.start_y + map.down_y * y + HALF_SHARE;
        uint8_t *to = out.data + y * out.stride;
        int begin = 0, end = width;
        keep_inside(at_x, map.across_x, source_width, &begin, &end);
        keep_inside(at_y, map.across_y, source_height, &begin, &end);
        for (int x = 0; x < width; x++, at_x += map.across_x, at_y += map.across_y) {
            if (x < begin || x >= end) {
                to[x] = turned_edge(source, source_width, source_height, at_x, at_y, extends);
                continue;
            }
            const uint8_t *above = source.data + (at_y >> 32) * source.stride + (at_x >> 32);
            int32_t share = share_of(at_x);
            to[x] = down_between(across_inside(above, share),
                                 across_inside(above + source.stride, share), share_of(at_y));
        }
    }
}

EXPORT EACH_PROCESSOR void framekiln_warp(plane source, int source_width, int source_height,
                                          const warp_map *map, int extends, int width, int height,
                                          plane out)
{
    if (map->down_x == 0 && map->across_y == 0)
        warp_upright(source, source_width, source_height, *map, extends, width, height, out);
    else
        warp_turned(source, source_width, source_height, *map, extends, width, height, out);
}

/* ---- Comparison: sums over blocks, of which the last ones may be partial ------------------ */

/* Adds to four numbers for each block: both sums, the sum of all squares, that of the products. The
 * side divides BLOCK. */
EXPORT EACH_PROCESSOR void framekiln_block_sums(plane one, plane other, int width, int height,
                                                int side, uint32_t *sums)
{
    uint32_t ones[BLOCK], others[BLOCK], squares[BLOCK], products[BLOCK];
    int across = (width + side - 1) / side;
    for (int top = 0; top < height; top += side) {
        int rows = height - top < side ? height - top : side;
        for (int left = 0; left < width; left += BLOCK) {
            int columns = width - left < BLOCK ? width - left : BLOCK;
            for (int x = 0; x < columns; x++)
                ones[x] = others[x] = squares[x] = products[x] = 0;
            for (int row = top; row < top + rows; row++) {
                const uint8_t *restrict as = one.data + row * one.stride + left;
                const uint8_t *restrict bs = other.data + row * other.stride + left;
                for (int x = 0; x < columns; x++) {
                    uint32_t a = as[x], b = bs[x];
                    ones[x] += a;
                    others[x] += b;
                    squares[x] += a * a + b * b;
                    products[x] += a * b;
                }
            }
            for (int x = 0; x < columns; x++) {
                uint32_t *to = sums + 4 * (top / side * across + (left + x) / side);
                to[0] += ones[x];
                to[1] += others[x];
                to[2] += squares[x];
                to[3] += products[x];
            }
        }
    }
}

#define NEAR 2 /* pixels in each direction */

/* The range of `columns` columns in the rows around one row; those outside of the plane repeat. */
INLINE void range_of_rows(plane values, int row, int height, int left, int columns,
                          uint8_t *restrict low, uint8_t *restrict high)
{
    const uint8_t *rows[2 * NEAR + 1];
    for (int at = 0; at <= 2 * NEAR; at++) {
        int near = row + at - NEAR;
        near = near < 0 ? 0 : near >= height ? height - 1 : near;
        rows[at] = values.data + near * values.stride + left;
    }
    const uint8_t *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3], *e = rows[4];
    for (int x = 0; x < columns; x++) {
        low[x] = smaller(smaller(smaller(a[x], b[x]), smaller(c[x], d[x])), e[x]);
        high[x] = larger(larger(larger(a[x], b[x]), larger(c[x], d[x])), e[x]);
    }
}

/* How far pixels of one plane lie outside of the range of the 5x5 pixels of the other around them:
 * one number for each block of `tall` rows and `wide` columns, which divide BLOCK. */
EXPORT EACH_PROCESSOR void framekiln_outside_sums(plane one, plane other, int width, int height,
                                                  int tall, int wide, uint32_t *sums)
{
    uint8_t low[BLOCK + 2 * NEAR], high[BLOCK + 2 * NEAR];
    uint16_t outside[BLOCK];
    int across = (width + wide - 1) / wide;
    for (int top = 0; top < height; top += tall) {
        int rows = height - top < tall ? height - top : tall;
        for (int left = 0; left < width; left += BLOCK) {
            int columns = width - left < BLOCK ? width - left : BLOCK;
            int first = left < NEAR ? 0 : left - NEAR, begin = first - left + NEAR;
            int last = left + columns + NEAR > width ? width : left + columns + NEAR;
            int end = last - left + NEAR;
            for (int x = 0; x < columns; x++)
                outside[x] = 0;
            for (int row = top; row < top + rows; row++) {
                range_of_rows(other, row, height, first, last - first, low + begin, high + begin);
                for (int x = 0; x < begin; x++)
                    low[x] = low[begin], high[x] = high[begin];
                for (int x = end; x < columns + 2 * NEAR; x++)
                    low[x] = low[end - 1], high[x] = high[end - 1];
                const uint8_t *restrict values = one.data + row * one.stride + left;
                for (int x = 0; x < columns; x++) {
                    uint8_t least = smaller(smaller(smaller(low[x], low[x + 1]),
                                                    smaller(low[x + 2], low[x + 3])), low[x + 4]);
                    uint8_t most = larger(larger(larger(high[x], high[x + 1]),
                                                 larger(high[x + 2], high[x + 3])), high[x + 4]);
                    uint8_t inside = larger(least, smaller(most, values[x]));
                    uint8_t apart = (uint8_t)(larger(inside, values[x]) - smaller(inside, values[x]));
                    outside[x] = (uint16_t)(outside[x] + apart);
                }
            }
            uint32_t *to = sums + top / tall * across + left / wide;
            if (wide == 1) {
                for (int x = 0; x < columns; x++)
                    to[x] = outside[x];
                continue;
            }
            for (int x = 0; x < columns; x += wide) {
                int next = x + wide < columns ? x + wide : columns;
                uint32_t sum = 0;
                for (int at = x; at < next; at++)
                    sum += outside[at];
                *to++ = sum;
            }
        }
    }
}
