/** The commands about notices and their destinations. */
import { type Command, Option } from 'commander';
import { DESTINATION_KINDS, NOTICE_EVENTS } from '../../domain/notices/notice.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addConfirm,
  type Common,
  type ConfirmOptions,
  connect,
  requireConfirmable,
} from '../shared/command-shape.ts';
import { parsePositive } from '../shared/options.ts';
import type { NoticeOptions, WhichNotices } from './notices.ts';

const load = () => import('./notices.ts');
const WHICH = 'id or name of the destination';
const INSTALLATION = 'of the installation, for admins: told of the records of all, and of disk and leader';
const lower = (words: readonly string[]) => words.map((word) => word.toLowerCase().replaceAll('_', '-'));

export function addNotices(program: Command, pieces: CliPieces): void {
  const notices = program.command('notices').description('where people are told that something needs them');
  addWhich(addCommon(notices.command('list', { isDefault: true }).alias('ls')))
    .description('list where notices go, and whether they arrive')
    .action(async (options: Common & WhichNotices) =>
      (await load()).listNotices(await connect(pieces, options), options, pieces),
    );
  addSettings(addWhich(addCommon(notices.command('add'))))
    .description(
      'add a destination; its URL is prompted for, or read from stdin, so that nobody reads it in a list of processes',
    )
    .argument('<name>', 'what to call it')
    .addOption(
      new Option('--kind <kind>', 'what the URL is of (default: email with --email, else webhook)').choices(
        lower(DESTINATION_KINDS),
      ),
    )
    .action(async (name: string, options: Common & NoticeOptions) =>
      (await load()).addNotice(await connect(pieces, options), name, options, pieces),
    );
  addSettings(addWhich(addCommon(notices.command('update'))))
    .description('change a destination')
    .argument('<which>', WHICH)
    .option('--name <name>', 'its new name')
    .option('--url', 'read a new URL, as `add` does')
    .option('--disable', 'tell it nothing until it is enabled again')
    .option('--enable', 'tell it again')
    .action(async (which: string, options: Common & NoticeOptions) =>
      (await load()).updateNotice(await connect(pieces, options), which, options, pieces),
    );
  addWhich(addCommon(notices.command('test')))
    .description('send a test, and print the answer')
    .argument('<which>', WHICH)
    .action(async (which: string, options: Common & WhichNotices) =>
      (await load()).testNotice(await connect(pieces, options), which, options, pieces),
    );
  addWhich(addCommon(notices.command('deliveries')))
    .description('list the newest messages to a destination, with what became of them')
    .argument('<which>', WHICH)
    .action(async (which: string, options: Common & WhichNotices) =>
      (await load()).listNoticeDeliveries(await connect(pieces, options), which, options, pieces),
    );
  addConfirm(addWhich(addCommon(notices.command('remove'))))
    .description('remove a destination; what waits to be sent there is not sent')
    .argument('<which>', WHICH)
    .action(async (which: string, options: Common & WhichNotices & ConfirmOptions) => {
      requireConfirmable(pieces, options);
      await (await load()).removeNotice(await connect(pieces, options), which, options, pieces);
    });
}

function addWhich(command: Command): Command {
  return command.option('--installation', INSTALLATION);
}

function addSettings(command: Command): Command {
  return command
    .option('--email <address>', 'mail them there')
    .addOption(new Option('--event <events...>', 'what to be told of (default: all)').choices(lower(NOTICE_EVENTS)))
    .option(
      '--wait-minutes <number>',
      'how long a wait for capacity or in the queue may be (default: 10)',
      parsePositive,
    );
}
