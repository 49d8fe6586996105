import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { newId } from '../../core/ids.ts';
import { signalMarked } from './process-group.ts';

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
