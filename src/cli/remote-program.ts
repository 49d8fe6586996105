import type { Command } from 'commander';
import { addLimits } from './account/limit-commands.ts';
import { addSshKeys } from './account/ssh-key-commands.ts';
import { addBilling, addBudgets } from './billing/billing-commands.ts';
import { addEndpoints } from './endpoints/endpoint-commands.ts';
import { addCopy, addExec } from './exec/exec-commands.ts';
import { addImport } from './import/import-command.ts';
import { addBatches } from './jobs/batch-commands.ts';
import { addJobs } from './jobs/job-commands.ts';
import { addClusters } from './pods/cluster-commands.ts';
import { addPods } from './pods/pod-commands.ts';
import { addCatalog, addModels } from './records/catalog-commands.ts';
import { addOtherRecords } from './records/record-commands.ts';
import type { CliPieces } from './shared/cli-pieces.ts';
import { addCommon, type Common, connect } from './shared/command-shape.ts';
import { addConfirm, type ConfirmOptions, confirmDeletion, requireConfirmable } from './shared/confirm.ts';

/** Adds the commands that talk to a server through the public API. */
export function addRemoteCommands(program: Command, pieces: CliPieces): void {
  addSignIn(program, pieces);
  addEndpoints(program, pieces);
  addJobs(program, pieces);
  addBatches(program, pieces);
  addModels(program, pieces);
  addPods(program, pieces);
  addExec(program, pieces);
  addCopy(program, pieces);
  addSshKeys(program, pieces);
  addClusters(program, pieces);
  addOtherRecords(program, pieces);
  addCatalog(program, pieces);
  addBilling(program, pieces);
  addBudgets(program, pieces);
  addLimits(program, pieces);
  addImport(program, pieces);
}

function addSignIn(program: Command, pieces: CliPieces): void {
  program
    .command('login')
    .description('save a server and its API key; the key is prompted for, or read from stdin')
    .argument('[url]', 'URL of the server', 'http://127.0.0.1:8080')
    .option('--name <context>', 'name of the context', 'default')
    .action(async (url: string, { name }: { name: string }) => {
      const { login } = await import('./account/login.ts');
      await login(pieces, { url, name });
    });
  const contexts = program.command('contexts').description('manage saved servers');
  contexts
    .command('list', { isDefault: true })
    .alias('ls')
    .description('list contexts; * marks the current one')
    .option('--json', 'print JSON, for programs; without keys')
    .action(async (options: { json?: boolean }) => {
      const { listContexts } = await import('./account/login.ts');
      await listContexts(pieces, options);
    });
  contexts
    .command('use')
    .description('make a context the current one')
    .argument('<name>')
    .action(async (name: string) => (await import('./account/contexts.ts')).useContext(pieces.terminal, name));
  addConfirm(contexts.command('remove'))
    .description('remove a context and its key from this machine')
    .argument('<name>')
    .action(async (name: string, options: ConfirmOptions) => {
      requireConfirmable(pieces, options);
      const { removeContext, requireContext } = await import('./account/contexts.ts');
      await requireContext(pieces.terminal, name);
      await confirmDeletion(pieces, { what: `the context ${name} and its key`, name }, options);
      await removeContext(pieces.terminal, name);
    });
  addCommon(program.command('open'))
    .description('open the console, optionally at an endpoint or pod')
    .argument('[id]', 'an endpoint or a pod, by id or name')
    .action(async (id: string | undefined, options: Common) => {
      const { openConsole } = await import('./account/login.ts');
      await openConsole(await connect(pieces, options), id, options, pieces);
    });
}
