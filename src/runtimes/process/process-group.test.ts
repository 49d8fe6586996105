import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { newId } from '../../core/ids.ts';
import { signalMarked, signalMarkedInTurns } from './process-group.ts';

test.runIf(process.platform === 'linux')(
  'a signal also reaches descendants without the marker: one has no environment while it executes another program',
  async () => {
    const marker = newId<string>();
    const child = spawn('sh', ['-c', 'env -i sh -c "echo ready; sleep 60; true"; echo "$?"'], {
      env: { ...process.env, PODYARD_TEST_MARKER: marker },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    await expect.poll(() => signalMarked(`PODYARD_TEST_MARKER=${marker}`, 'SIGCONT')).toBe(3);
    expect(signalMarked(`PODYARD_TEST_MARKER=${marker}`, 'SIGTERM')).toBe(3);
    await once(child, 'close'); // its output too, which `sleep` would hold open
    expect(signalMarked(`PODYARD_TEST_MARKER=${marker}`, 'SIGKILL')).toBe(0);
  },
);

test.runIf(process.platform === 'linux')(
  'signals that are asked for at once each reach their own processes',
  async () => {
    const children = [newId<string>(), newId<string>(), newId<string>()].map((marker) => ({
      entry: `PODYARD_TEST_MARKER=${marker}`,
      child: spawn('sleep', ['60'], { env: { ...process.env, PODYARD_TEST_MARKER: marker }, stdio: 'ignore' }),
    }));
    await Promise.all(children.map(({ child }) => once(child, 'spawn')));
    for (const { entry } of children) await expect.poll(() => signalMarked(entry, 'SIGCONT')).toBe(1);
    const ends = children.map(({ child }) => once(child, 'exit'));
    const [first, second, third] = children as [(typeof children)[0], (typeof children)[0], (typeof children)[0]];
    await Promise.all([signalMarkedInTurns(first.entry, 'SIGTERM'), signalMarkedInTurns(third.entry, 'SIGKILL')]);
    expect(await Promise.all([ends[0], ends[2]])).toEqual([
      [null, 'SIGTERM'],
      [null, 'SIGKILL'],
    ]);
    expect(second.child.exitCode ?? second.child.signalCode).toBeNull();
    await signalMarkedInTurns(second.entry, 'SIGKILL');
    await ends[1];
  },
);
