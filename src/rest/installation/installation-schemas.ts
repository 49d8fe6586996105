import { Type } from 'typebox';
import { stringEnum } from '../shared/schema.ts';

export const InstallationResponse = Type.Object(
  {
    id: Type.String({ description: 'Labels its containers and pods.' }),
    version: Type.String(),
    runtime: stringEnum(['docker', 'kubernetes', 'process', 'simulated']),
    isolation: Type.Boolean({ description: 'Whether a worker is kept from the machine and from other workers.' }),
    gpus: stringEnum(['REAL', 'SIMULATED'], { description: '`SIMULATED`: workers run on the CPU.' }),
    freeze: stringEnum(['STOPPED', 'PARKED', 'NONE'], {
      description:
        'What a worker is that FlashBoot keeps: `STOPPED` executes nothing, `PARKED` goes on with as little CPU as can be had.',
    }),
    notices: Type.Array(Type.String(), { description: 'Sentences that an operator should read once.' }),
  },
  { $id: 'Installation', description: 'Podyard only: what this installation runs on.' },
);
