import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../../release/release-facts.ts';

/** An image of the process runtime whose jobs run until the machine has {@link GATE}, however long that takes. */
export const GATED_IMAGE = 'test/gated:dev';
export const GATE = '/run/gate-is-open';

const WORKER = `import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { start } from './podyard-worker.js';
await start({
  handler: async ({ input }) => {
    while (!existsSync('${GATE}')) await setTimeout(50);
    return input.echo;
  },
});
`;

/** Writes the worker into a layer of a machine. */
export async function writeGatedWorker(layer: string): Promise<void> {
  const folder = join(layer, 'gated');
  await mkdir(folder);
  await copyFile(join(ROOT, 'workers/javascript/podyard-worker.js'), join(folder, 'podyard-worker.js'));
  await writeFile(join(folder, 'gated.js'), WORKER);
  const image = { command: ['node', 'gated.js'], directory: '/gated' };
  await writeFile(join(folder, 'images.json'), JSON.stringify({ [GATED_IMAGE]: image }));
}

/** The command that makes the image known to the server of a data directory. */
export const addGatedImage = (data: string): string => `ln -sf /gated/images.json ${data}/images.json`;
