/* Runs amplifier.h on a WAV file: guitar_amplifier INPUT.wav OUTPUT.wav

   cc -O3 -march=native -I FOLDER_OF_THE_HEADER -o guitar_amplifier guitar_amplifier.c

   The files are mono, 16 bits, as guitar_amplifier.py writes them. In the loop nothing is allocated: it could stand in an
   audio callback as it is. */
#include "amplifier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADER = 44, BLOCK = 64 };

static int fail(const char *words, const char *path) {
    fprintf(stderr, "guitar_amplifier: %s: %s\n", path, words);
    return 1;
}

int main(int count, char **paths) {
    static amplifier_state state;
    unsigned char header[HEADER];
    int16_t samples[BLOCK];
    float block[BLOCK];
    size_t read, total = 0;
    unsigned rate;
    clock_t spent = 0;
    FILE *from, *to;
    if (count != 3) return fail("needs INPUT.wav and OUTPUT.wav", paths[0]);
    from = fopen(paths[1], "rb");
    if (!from) return fail("cannot be opened", paths[1]);
    if (fread(header, 1, HEADER, from) != HEADER || memcmp(header, "RIFF", 4) || memcmp(header + 36, "data", 4) ||
        header[22] != 1 || header[34] != 16)
        return fail("is no mono WAV file of 16 bits", paths[1]);
    rate = header[24] | (unsigned)header[25] << 8 | (unsigned)header[26] << 16;
    to = fopen(paths[2], "wb");
    if (!to || fwrite(header, 1, HEADER, to) != HEADER) return fail("cannot be written", paths[2]);
    amplifier_reset(&state);
    while ((read = fread(samples, sizeof *samples, BLOCK, from)) > 0) {
        clock_t before;
        size_t i;
        for (i = 0; i < read; ++i) block[i] = (float)samples[i] / 32768.0f;
        before = clock();
        amplifier_run(&state, block, NULL, read, block);
        spent += clock() - before;
        for (i = 0; i < read; ++i) {
            float loud = block[i] * 32768.0f;
            loud = loud < -32768.0f ? -32768.0f : loud > 32767.0f ? 32767.0f : loud;
            samples[i] = (int16_t)(loud < 0.0f ? loud - 0.5f : loud + 0.5f);
        }
        if (fwrite(samples, sizeof *samples, read, to) != read) return fail("cannot be written", paths[2]);
        total += read;
    }
    fclose(from);
    if (fclose(to)) return fail("cannot be written", paths[2]);
    printf("%.1f seconds of sound in %.3f seconds\n", (double)total / rate, (double)spent / CLOCKS_PER_SEC);
    return 0;
}
