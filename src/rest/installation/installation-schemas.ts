import { RUNTIME_NAMES } from '../../core/runtime-names.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

export const InstallationResponse = Type.Object(
  {
    id: Type.String({ description: 'Identifier; a label on its containers and pods.' }),
    version: Type.String(),
    runtime: stringEnum(RUNTIME_NAMES.toSorted()),
    isolation: Type.Boolean({ description: 'True if workers are isolated from the machine and from each other.' }),
    gpus: stringEnum(['REAL', 'SIMULATED'], { description: 'With `SIMULATED`, workers run on the CPU.' }),
    freeze: stringEnum(['STOPPED', 'PARKED', 'NONE'], {
      description: 'How FlashBoot keeps a worker: `STOPPED` executes nothing; `PARKED` keeps running with minimal CPU.',
    }),
    sleep: stringEnum(['CHECKPOINT', 'COOPERATIVE', 'NONE'], {
      description:
        'Which frozen workers give their GPUs to others: any that uses CUDA (`CHECKPOINT`), those with sleep handlers or URLs ' +
        '(`COOPERATIVE`), or none.',
    }),
    buildHindrance: nullableString({
      description: 'Why this server builds no images, and what to do instead; null: it does.',
    }),
    notices: Type.Array(Type.String(), { description: 'Notices for the operator.' }),
    problems: Type.Array(Type.String(), {
      description: 'For admins: what is out of order now, such as GPUs or a full disk. Empty for others.',
    }),
  },
  { $id: 'Installation', description: 'Podyard only: what this installation runs on.' },
);

export const INSTALLATION_SCHEMAS: NamedSchemas = [
  [
    InstallationResponse,
    {
      id: 'k2v9q0x4zt',
      version: '0.2.0',
      runtime: 'kubernetes',
      isolation: true,
      gpus: 'REAL',
      freeze: 'PARKED',
      sleep: 'NONE',
      buildHindrance: 'This server builds no images: PODYARD_BUILDS is 0. Push one to a registry instead.',
      notices: ['Frozen workers are parked here'],
      problems: ['The disk of the data directory has 3.1 GiB of 200.0 GiB left'],
    },
  ],
];
