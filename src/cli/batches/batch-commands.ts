import type { Command } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect, onEndpoint, records } from '../shared/command-shape.ts';
import { wholeNumber } from '../shared/options.ts';
import type { SubmitOptions } from './submit-batch.ts';

const batches = () => import('./batches.ts');

export function addBatches(program: Command, pieces: CliPieces): void {
  const batch = program.command('batch').description('run many requests when no interactive job waits');
  addCommon(batch.command('submit'))
    .description('upload JSON lines and run them; continues where an upload broke off')
    .argument('<file>', 'a request in each line, such as {"input": …}; may be compressed (.gz)')
    .requiredOption('--endpoint <endpoint>', 'id or name')
    .option('--name <name>', 'name of the batch')
    .option('--webhook <url>', 'URL to call at its end')
    .option('--no-order', 'start the requests in any order')
    .option('--batch <id>', 'continue the upload to this batch, a draft, by id or name')
    .option('--no-finalize', 'leave it a draft: do not run it yet')
    .option('--wait', 'wait for its end; exits with 7 unless it is COMPLETED')
    .action(async (file: string, options: Common & SubmitOptions & { endpoint: string }) => {
      const [{ findRecord, RECORDS }, client] = await Promise.all([records(), connect(pieces, options)]);
      const { id } = await findRecord(client, RECORDS.endpoints, options.endpoint);
      const { batch } = options;
      const draft = batch === undefined ? {} : { batch: await (await batches()).findBatch(client, id, batch) };
      await (await import('./submit-batch.ts')).submitBatch(client, id, file, { ...options, ...draft }, pieces);
    });
  onEndpoint<{ limit: number }>(batch.command('list'), pieces, async (client, endpointId, options, name) =>
    (await batches()).listBatches(client, endpointId, { ...options, name }, pieces),
  )
    .description('list the batches of an endpoint, newest first')
    .option('--limit <number>', 'how many to list', wholeNumber, 50);
  onBatch<{ wait?: boolean }>(batch.command('status'), pieces, async (client, path, options) =>
    (await batches()).showBatch(client, path, options, pieces),
  )
    .description('show a batch with its progress')
    .option('--wait', 'wait for its end; exits with 7 unless it is COMPLETED');
  onBatch<{ output?: string }>(batch.command('results'), pieces, async (client, path, options) =>
    (await batches()).downloadResults(client, path, options, pieces),
  )
    .description('print the results, a JSON line for each request')
    .option('-o, --output <file>', 'write to a file; continues where a download broke off');
  onBatch(batch.command('cancel'), pieces, async (client, path, options) =>
    (await batches()).cancelBatch(client, path, options, pieces),
  ).description('cancel a batch; running requests finish');
}

/** Adds the arguments endpoint and batch, and runs `work` with the batch's path. */
function onBatch<Options>(
  command: Command,
  pieces: CliPieces,
  work: (client: Awaited<ReturnType<typeof connect>>, path: string, options: Options & Common) => Promise<void>,
): Command {
  return onEndpoint<Options>(command, pieces, async (client, id, options, _name, batch) => {
    const { findBatch } = await batches();
    await work(client, `/v2/${id}/batch/${encodeURIComponent(await findBatch(client, id, batch!))}`, options);
  }).argument('<batch>', "the batch's id, or its name");
}
