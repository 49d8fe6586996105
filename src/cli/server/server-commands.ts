import type { Command } from 'commander';
import type { Flags } from '../../config.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addServerOptions } from '../shared/command-options.ts';

/** Adds `serve` and `demo`. */
export function addServerCommands(program: Command, pieces: CliPieces): void {
  addServerOptions(program.command('serve', { isDefault: true }))
    .description('run the server (the default command)')
    .action((flags: Flags) => pieces.serve(flags));
  addServerOptions(program.command('demo'))
    .description('start a server, deploy an example endpoint, run jobs, roll out a release, and stay up')
    .option('--exit', 'exit after the demo instead of staying up')
    .action((flags: Flags & { exit?: boolean }) => pieces.demo(flags));
}

export function addDoctor(program: Command, pieces: CliPieces): void {
  addServerOptions(program.command('doctor'))
    .description('check what a server would use on this machine, and how to fix what is missing')
    .option('--json', 'print JSON, for programs')
    .action(async ({ json, ...flags }: Flags & { json?: boolean }) => {
      if (!(await pieces.doctor(flags, json === true))) throw new Error('a server cannot run here yet');
    });
}
