import { expect, test } from 'vitest';
import { ConnectionPace, type PacedTaker, RefusalPace } from './refusal-pace.ts';

class Connection implements PacedTaker {
  readonly pace: ConnectionPace;
  turns = 0;
  isDestroyed = false;

  constructor(pace: RefusalPace, remoteAddress: string, proxies: { has(address: string): boolean } | null = null) {
    this.pace = new ConnectionPace(pace, { remoteAddress, proxies });
  }

  takeTurn(): void {
    this.turns += 1;
    this.pace.resume();
  }

  destroy(): void {
    this.isDestroyed = true;
  }

  /** Sends refused requests until it has to wait; returns how many. */
  flood(max = 100_000): number {
    for (let sent = 0; sent < max; sent++) {
      if (this.pace.mustWait(this)) return sent;
      this.pace.refused();
    }
    return max;
  }
}

/** A pace with a clock of its own. */
function create() {
  const clock = { ms: 0, now: () => clock.ms };
  return { pace: new RefusalPace({ clock }), clock };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 20));

test('a connection may be refused 500 times a second, and then waits for each request', async () => {
  const { pace, clock } = create();
  const one = new Connection(pace, '192.0.2.1');
  expect(one.flood()).toBeGreaterThan(450);
  pace.admit();
  await turn();
  expect(one.turns).toBe(0);
  clock.ms += 10;
  pace.admit();
  await turn();
  expect(one.turns).toBe(1);
  expect(one.pace.mustWait(one)).toBe(false); // what it waited for
});

test('a connection that is not refused never waits for refusals of its network', () => {
  const { pace } = create();
  const flood = new Connection(pace, '192.0.2.1');
  const good = new Connection(pace, '192.0.2.1');
  good.pace.passed();
  flood.flood();
  expect(good.pace.mustWait(good)).toBe(false);
  good.pace.refused(); // one mistake
  good.pace.passed();
  expect(good.pace.mustWait(good)).toBe(false);
});

test('new connections do not wait for a flood on others, but for those that are refused at once', () => {
  const { pace } = create();
  new Connection(pace, '192.0.2.1').flood();
  const fresh = () => new Connection(pace, '192.0.2.1');
  const first = fresh();
  expect(first.pace.mustWait(first)).toBe(false);
  let opened = 0;
  for (; opened < 10_000 && fresh().flood(1) === 1; opened++);
  expect(opened).toBeGreaterThan(450);
  expect(opened).toBeLessThan(600);
});

test('other networks do not wait, and those of one IPv6 network do', () => {
  const { pace } = create();
  for (let i = 0; i < 1_000; i++) new Connection(pace, `2001:db8::${i}`).flood(1);
  const neighbor = new Connection(pace, '2001:db8::ffff');
  const other = new Connection(pace, '2001:db8:1::1');
  expect(neighbor.pace.mustWait(neighbor)).toBe(true);
  expect(other.pace.mustWait(other)).toBe(false);
});

test('many networks together have a pace too, and take turns', async () => {
  const { pace, clock } = create();
  const floods = Array.from({ length: 100 }, (_, i) => new Connection(pace, `192.0.2.${i}`));
  const sent = floods.map((flood) => flood.flood(200)).reduce((sum, count) => sum + count);
  expect(sent).toBeLessThan(3_000);
  for (const flood of floods) if (!flood.pace.isWaiting) flood.flood();
  expect(floods.every((flood) => flood.pace.isWaiting)).toBe(true);
  const innocent = new Connection(pace, '198.51.100.1');
  expect(innocent.pace.mustWait(innocent)).toBe(false);
  for (let i = 0; i < 60; i++) {
    clock.ms += 50;
    pace.admit();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await turn();
  expect(floods.every(({ turns }) => turns > 0)).toBe(true);
});

test('a long flood is forgotten in two seconds', () => {
  const { pace, clock } = create();
  for (let i = 0; i < 100_000; i++) pace.charge('192.0.2.1', 4);
  expect(pace.isExceeded('192.0.2.1')).toBe(true);
  clock.ms += 2_001;
  expect(pace.isExceeded('192.0.2.1')).toBe(false);
  expect(pace.isCalm).toBe(true);
});

test('on a connection of a trusted proxy each client waits for its own refusals', () => {
  const { pace } = create();
  const proxies = { has: (address: string) => address === '10.0.0.1' };
  const connection = new Connection(pace, '10.0.0.1', proxies);
  for (let i = 0; i < 1_000; i++) connection.pace.refused(1, '192.0.2.1');
  expect(connection.pace.mustWait(connection)).toBe(false);
  expect(connection.pace.mustWaitFor('192.0.2.2', connection)).toBe(false);
  expect(connection.pace.mustWaitFor('192.0.2.2, 192.0.2.1, 10.0.0.1', connection)).toBe(true);
});

test('the tables are bounded: one more network shares a pace, and one more connection that waits is cut', () => {
  const { pace } = create();
  for (let i = 0; i < 10_000; i++) pace.charge(`network ${i}`);
  for (let i = 0; i < 600; i++) pace.charge(`another ${i}`);
  expect(pace.isExceeded('yet another')).toBe(true);
  expect(pace.isExceeded('network 1')).toBe(true); // by all together
  const crowd = create();
  new Connection(crowd.pace, '192.0.2.1').flood();
  const refused = Array.from({ length: 1_001 }, () => {
    const one = new Connection(crowd.pace, '192.0.2.1');
    one.pace.refused();
    return one;
  });
  const cut = refused.filter((one) => one.pace.mustWait(one) && one.isDestroyed);
  expect(cut.length).toBeGreaterThan(0);
  expect(cut.length).toBeLessThan(10);
  for (const one of refused) one.pace.leave(one);
});
