import { Argument, Command, CommanderError, type ErrorOptions } from 'commander';
import { readVersion } from '../core/files/own-package.ts';
import { didYouMean } from '../core/text/closest.ts';
import { completionScript, findCandidates, SHELLS, type Shell } from './help/completion.ts';
import { addExamples } from './help/examples.ts';
import type { CliPieces } from './shared/cli-pieces.ts';

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

/** Commands by their first words, in the order of the help, and what adds them: it loads when one of them runs. */
export const GROUPS: readonly (readonly [names: string, load: () => Promise<AddCommands>])[] = [
  [
    'serve demo prove copy-models serve-files',
    () => import('./server/server-commands.ts').then((m) => m.addServerCommands),
  ],
  ['keys', () => import('./access/access-commands.ts').then((m) => m.addKeys)],
  ['s3-keys', () => import('./access/access-commands.ts').then((m) => m.addS3Keys)],
  ['users', () => import('./access/access-commands.ts').then((m) => m.addUsers)],
  ['teams', () => import('./teams/team-commands.ts').then((m) => m.addTeams)],
  ['simulate', () => import('./server/simulate-commands.ts').then((m) => m.addSimulate)],
  ['secrets', () => import('./records/record-commands.ts').then((m) => m.addSecrets)],
  ['backup restore move stop-workers', () => import('./storage/storage-commands.ts').then((m) => m.addStorageCommands)],
  ['login logout contexts open', () => import('./account/account-commands.ts').then((m) => m.addSignIn)],
  ['init deploy', () => import('./deploy/deploy-commands.ts').then((m) => m.addDeploy)],
  ['dev', () => import('./dev/dev-command.ts').then((m) => m.addDev)],
  [
    'endpoints workers releases rollback rollout history decisions',
    () => import('./endpoints/endpoint-commands.ts').then((m) => m.addEndpoints),
  ],
  ['git', () => import('./git/git-commands.ts').then((m) => m.addGit)],
  ['run jobs', () => import('./jobs/job-commands.ts').then((m) => m.addJobs)],
  ['logs', () => import('./logs/log-commands.ts').then((m) => m.addLogs)],
  ['batch', () => import('./batches/batch-commands.ts').then((m) => m.addBatches)],
  ['models', () => import('./models/model-commands.ts').then((m) => m.addModels)],
  ['pods', () => import('./pods/pod-commands.ts').then((m) => m.addPods)],
  ['exec', () => import('./exec/exec-commands.ts').then((m) => m.addExec)],
  ['cp', () => import('./exec/exec-commands.ts').then((m) => m.addCopy)],
  ['ssh-keys', () => import('./account/account-commands.ts').then((m) => m.addSshKeys)],
  ['clusters', () => import('./pods/cluster-commands.ts').then((m) => m.addClusters)],
  ['templates volumes registries', () => import('./records/record-commands.ts').then((m) => m.addOtherRecords)],
  ['catalog', () => import('./records/record-commands.ts').then((m) => m.addCatalog)],
  ['billing', () => import('./billing/billing-commands.ts').then((m) => m.addBilling)],
  ['budgets', () => import('./billing/billing-commands.ts').then((m) => m.addBudgets)],
  ['audit', () => import('./audit/audit-commands.ts').then((m) => m.addAudit)],
  ['notices', () => import('./notices/notice-commands.ts').then((m) => m.addNotices)],
  ['limits', () => import('./account/account-commands.ts').then((m) => m.addLimits)],
  ['import', () => import('./import/import-command.ts').then((m) => m.addImport)],
  ['doctor', () => import('./server/server-commands.ts').then((m) => m.addDoctor)],
  ['upgrade', () => import('./server/upgrade.ts').then((m) => m.addUpgrade)],
  ['kit', () => import('./server/kit.ts').then((m) => m.addKit)],
];

type AddCommands = (program: Command, pieces: CliPieces) => void;

/** Returns the program with the commands of these groups; with those that look at all others, if it has all groups. */
export async function buildCli(pieces: CliPieces, groups = GROUPS): Promise<Command> {
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
  const adders = await Promise.all(groups.map(([, load]) => load()));
  for (const add of adders) add(program, pieces);
  if (groups === GROUPS) addCompletion(program, pieces);
  addExamples(program);
  return program;
}

/** Runs a command, and resolves with the exit status. A command line that is not understood is explained on stderr; rejects as the command does. */
export async function parse(pieces: CliPieces, args: readonly string[]): Promise<number> {
  try {
    const own = GROUPS.filter(([names]) => names.split(' ').includes(args[0]!));
    const program = await buildCli(pieces, own.length > 0 ? own : GROUPS);
    await program.parseAsync([...args], { from: 'user' });
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
