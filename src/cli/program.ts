import { readFileSync } from 'node:fs';
import { Argument, Command, CommanderError, type ErrorOptions } from 'commander';
import { didYouMean } from '../core/text/closest.ts';
import { addKeys, addS3Keys, addSecrets, addUsers } from './access/access-commands.ts';
import { addLimits, addSignIn, addSshKeys } from './account/account-commands.ts';
import { addAudit } from './audit/audit-commands.ts';
import { addBatches } from './batches/batch-commands.ts';
import { addBilling, addBudgets } from './billing/billing-commands.ts';
import { addDeploy } from './deploy/deploy-commands.ts';
import { addDev } from './dev/dev-command.ts';
import { addEndpoints } from './endpoints/endpoint-commands.ts';
import { addCopy, addExec } from './exec/exec-commands.ts';
import { addGit } from './git/git-commands.ts';
import { completionScript, findCandidates, SHELLS, type Shell } from './help/completion.ts';
import { addExamples } from './help/examples.ts';
import { addImport } from './import/import-command.ts';
import { addJobs } from './jobs/job-commands.ts';
import { addLogs } from './logs/log-commands.ts';
import { addModels } from './models/model-commands.ts';
import { addNotices } from './notices/notice-commands.ts';
import { addClusters } from './pods/cluster-commands.ts';
import { addPods } from './pods/pod-commands.ts';
import { addCatalog, addOtherRecords } from './records/record-commands.ts';
import { addKit } from './server/kit.ts';
import { addDoctor, addServerCommands } from './server/server-commands.ts';
import { addSimulate } from './server/simulate-commands.ts';
import { addUpgrade } from './server/upgrade.ts';
import type { CliPieces } from './shared/cli-pieces.ts';
import { addStorageCommands } from './storage/storage-commands.ts';
import { addTeams } from './teams/team-commands.ts';

/** A command that reports an unknown word as an unknown command, not as an excess argument of its default command. */
class CommandLine extends Command {
  override createCommand(name?: string): Command {
    return new CommandLine(name);
  }

  override error(message: string, options?: ErrorOptions): never {
    const { parent, args } = this;
    const isImplied = parent !== null && !parent.args.includes(this.name());
    if (options?.code !== 'commander.excessArguments' || !isImplied) super.error(message, options);
    const path = parent.parent === null ? parent.name() : `${parent.parent.name()} ${parent.name()}`;
    const visible = parent.createHelp().visibleCommands(parent);
    const names = visible.map((command) => command.name()).filter((name) => name !== 'help');
    const wrong = String(args[0]);
    super.error(`error: ${path} has no command '${wrong}', but: ${names.join(', ')}${didYouMean(wrong, names)}`, {
      ...options,
      code: 'commander.unknownCommand',
    });
  }
}

export function buildCli(pieces: CliPieces): Command {
  const program = new CommandLine('podyard')
    .description('Your own serverless compute cloud.')
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => pieces.print(text.trimEnd()),
      writeErr: (text) => pieces.note(text.trimEnd()),
    });
  addServerCommands(program, pieces);
  addKeys(program, pieces);
  addS3Keys(program, pieces);
  addUsers(program, pieces);
  addTeams(program, pieces);
  addSimulate(program, pieces);
  addSecrets(program, pieces);
  addStorageCommands(program, pieces);
  addSignIn(program, pieces);
  addDeploy(program, pieces);
  addDev(program, pieces);
  addEndpoints(program, pieces);
  addGit(program, pieces);
  addJobs(program, pieces);
  addLogs(program, pieces);
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
  addAudit(program, pieces);
  addNotices(program, pieces);
  addLimits(program, pieces);
  addImport(program, pieces);
  addDoctor(program, pieces);
  addUpgrade(program, pieces);
  addKit(program, pieces);
  addCompletion(program, pieces);
  addExamples(program);
  return program;
}

/** Runs a command, and resolves with the exit status. A command line that is not understood is explained on stderr; rejects as the command does. */
export async function parse(pieces: CliPieces, args: readonly string[]): Promise<number> {
  try {
    await buildCli(pieces).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // it has printed its text itself
    throw error;
  }
}

function addCompletion(program: Command, pieces: CliPieces): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and names: source <(podyard completion bash)')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: Shell) => pieces.print(completionScript(shell).trimEnd()));
  program
    .command('complete', { hidden: true })
    .description('print what may complete a command line, for the scripts of `podyard completion`')
    .argument('[words...]', 'the words after `podyard`, after --; the last one is unfinished')
    .action(async (words: string[]) => {
      const { complete } = await import('./help/complete.ts');
      const at = words.indexOf('--context');
      const context = at < 0 ? undefined : words[at + 1];
      const lines = await complete(findCandidates(program, words), words.at(-1) ?? '', context, pieces.terminal);
      if (lines.length > 0) pieces.print(lines.join('\n'));
    });
}

/** Returns the version of this package. */
function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
