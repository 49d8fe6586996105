import type { Command } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import {
  addCommon,
  addConfirm,
  type Common,
  type ConfirmOptions,
  connect,
  records,
  requireConfirmable,
} from '../shared/command-shape.ts';

const files = () => import('./volume-files.ts');

const PLACE = '<volume>:<path>, the volume by id or name';

/** Adds what works on the files of volumes. `volumes list`, alias `ls`, takes a place. */
export function addVolumeFiles(volumes: Command, pieces: CliPieces): void {
  volumes.commands
    .find((command) => command.name() === 'list')!
    .description('list volumes, or the files at a place in one')
    .argument('[place]', PLACE)
    .option('-r, --recursive', 'with everything in the directories below')
    .action(async (place: string | undefined, options: Common & { recursive?: boolean }) => {
      const client = await connect(pieces, options);
      if (place === undefined) {
        const { RECORDS, showRecords } = await records();
        return showRecords(await RECORDS.volumes.rows(client), RECORDS.volumes, options.json, pieces);
      }
      const { listFiles } = await files();
      await listFiles(client, { ...options, place }, pieces);
    });
  addCommon(volumes.command('cp'))
    .description('copy files to or from a volume; one of the two places is on this machine')
    .argument('<from>', `a path of this machine, or ${PLACE}`)
    .argument('<to>', 'the same')
    .option('-r, --recursive', 'a directory with everything in it')
    .action(async (from: string, to: string, options: Common & { recursive?: boolean }) => {
      const { copyFiles } = await import('./copy-volume-files.ts');
      await copyFiles(await connect(pieces, options), { ...options, from, to }, pieces);
    });
  addConfirm(addCommon(volumes.command('rm')))
    .description('delete a file of a volume, or with -r a directory')
    .argument('<place>', PLACE)
    .option('-r, --recursive', 'a directory with everything in it')
    .action(async (place: string, options: Common & ConfirmOptions & { recursive?: boolean }) => {
      if (options.recursive) requireConfirmable(pieces, options);
      const { removeFiles } = await files();
      await removeFiles(await connect(pieces, options), { ...options, place }, pieces);
    });
}
