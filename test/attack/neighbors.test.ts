/** No client starves its neighbors on any plane, whatever it is answered: docs/guide/security.md, "Floods". */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectUnharmed } from './beside-flood.ts';
import { Bystander, quantile } from './bystander.ts';
import { Neighborhood } from './neighborhood.ts';
import { PLANES } from './planes.ts';

vi.setConfig({ testTimeout: 90_000, hookTimeout: 180_000 });

const isThorough = process.env.PODYARD_TEST_THOROUGH === 'true';
const MEASURE_MS = isThorough ? 5_000 : 800;
/** Times that a request waits for the machine: client, server, database or upstream, server, client. */
const TURNS = 4;
/** [connections, whether they read their answers] */
const CLIENTS: [number, boolean][] = [
  [1, true],
  [4, true],
  [100, true],
  [100, false],
  ...(isThorough
    ? ([
        [1, false],
        [4, false],
      ] as [number, boolean][])
    : []),
];

let street: Neighborhood;
beforeAll(async () => {
  street = await Neighborhood.start();
});
afterAll(() => street?.dispose());

describe.each(PLANES)('$name', ({ victim, floods }) => {
  let bystander: Bystander;
  let aloneMs: number;
  beforeAll(async () => {
    bystander = new Bystander(await victim(street.victim));
    await bystander.measure(500); // warms up
    const { waits, faults } = await bystander.measure(2 * MEASURE_MS);
    expect(faults).toEqual([]);
    aloneMs = quantile(waits, 0.99);
  });
  afterAll(() => bystander?.stop());

  describe.each(floods)('beside %s', (_, attack) => {
    test.each(CLIENTS)('on %i connections, which read: %s', async (connections, reads) => {
      const { server, hostile } = street;
      const scene = { serverPid: server.pid, bystander, aloneMs, turns: TURNS, measureMs: MEASURE_MS };
      const flood = { port: hostile.ports.public, renews: false, ...(await attack(hostile, connections)) };
      await expectUnharmed(scene, { ...flood, connections, reads });
    });
  });
});
