/** No client starves its neighbors on any plane, whatever it is answered: docs/guide/security.md, "Floods". */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectUnharmed, untilCalm } from './beside-flood.ts';
import { Bystander, quantile } from './bystander.ts';
import { Neighborhood } from './neighborhood.ts';
import { PLANES } from './planes.ts';

const isThorough = process.env.PODYARD_TEST_THOROUGH === 'true';
const MEASURE_MS = isThorough ? 5_000 : 600;
/**
 * V8 lets its heap grow to several times what lives before it collects all of it, on a machine with as much memory as the tests'. What
 * lives is below 100 MB after each flood.
 */
const MAX_RSS_MB = 900;
/** How many of the latest samples count. */
const ALONE_SAMPLES = 500;
/** [connections, whether they read their answers] */
const CLIENTS: [number, boolean][] = [
  [1, true],
  [100, true],
  [100, false],
  ...(isThorough
    ? ([
        [4, true],
        [1, false],
        [4, false],
      ] as [number, boolean][])
    : []),
];

// A server for each plane: what the allocator keeps after a flood would count against the next.
describe.each(PLANES)('$name', ({ victim, floods, turns = 4 }) => {
  let street: Neighborhood;
  let bystander: Bystander;
  /** How long the victim's requests took without a flood, before each of them: the machine has other work, and not always as much. */
  const alone: number[] = [];
  const aloneMs = () => quantile(alone.slice(-ALONE_SAMPLES), 0.99);
  const measureAlone = async (durationMs: number) => {
    const { waits, faults } = await bystander.measure(durationMs);
    expect(faults).toEqual([]);
    alone.push(...waits);
  };

  beforeAll(async () => {
    street = await Neighborhood.start();
    bystander = new Bystander(await victim(street.victim));
    await bystander.measure(500); // warms up
    await measureAlone(MEASURE_MS);
  });
  afterAll(async () => {
    await bystander?.stop();
    await street?.dispose();
  });

  describe.each(floods)('beside %s', (_, attack) => {
    test.each(CLIENTS)('on %i connections, which read: %s', async (connections, reads) => {
      const { server, hostile } = street;
      await untilCalm({ bystander, aloneMs: aloneMs() });
      await measureAlone(MEASURE_MS / 4);
      const scene = {
        ...{ serverPid: server.pid, maxRssMb: MAX_RSS_MB },
        ...{ bystander, aloneMs: aloneMs(), turns, measureMs: MEASURE_MS },
      };
      await expectUnharmed(scene, async () => {
        await street.untilTerminalsEnded();
        const task = await attack(hostile, connections);
        return { port: hostile.ports.public, renews: false, ...task, connections, reads };
      });
    });
  });
});
