import { expect, test } from 'vitest';
import { buildFailure } from './build-failure.ts';

const BUILD = {
  request: { registries: {}, recipe: {} } as Parameters<typeof buildFailure>[1]['request'],
  limits: { cpus: 1, memoryBytes: 128 * 2 ** 20, timeoutMs: 1, maxImageBytes: 1 },
  dockerfile: 'Dockerfile',
  missedSecrets: [],
};
const STEP = { name: '[2/2] RUN make', lastLines: [] };

test.each([
  ['exit code: 137'],
  ['building at STEP "RUN make": while running runtime: signal: killed'], // Buildah: the kernel chose what starts the step
])('a step that was killed is told how much memory a build has: %s', (words) => {
  expect(buildFailure(words, { ...BUILD, step: STEP }).message).toBe(
    "Step '[2/2] RUN make' failed with exit code 137. It was killed, as one is that needs more memory than a build has (128 MiB).",
  );
});
