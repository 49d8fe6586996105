import type { NamedSchemas } from '../shared/example-values.ts';
import { closed, nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

export const SimulationResponse = Type.Object(
  {
    gpus: Type.Array(
      Type.Object({ pool: Type.String(), dataCenterId: Type.String(), total: Type.Integer({ minimum: 0 }) }),
    ),
    slowPull: Type.Unsafe<{ seconds: number; image: string | null } | null>({
      type: ['object', 'null'],
      properties: { seconds: { type: 'number' }, image: nullableString({ description: 'Null: every image.' }) },
      required: ['seconds', 'image'],
    }),
  },
  { $id: 'Simulation', description: 'Podyard only: the current simulation.' },
);

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 500, description }));
const whole = (maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum, description }));

export const SimulateRequest = closed(
  {
    action: stringEnum(['capacity', 'slow-pull', 'crash', 'preempt', 'reset'], {
      description:
        '`capacity` (`pool`, `total`) sets the number of GPUs; `slow-pull` (`seconds`) delays image pulls; `crash` ' +
        '(`workerId`, or `endpointId` for its next starts) and `preempt` (`workerId`) end workers; `reset` returns to ' +
        'the start-up settings.',
    }),
    pool: text('GPU pool.'),
    dataCenterId: text('Default: this machine’s.'),
    total: whole(100_000, 'GPUs from now on. Running workers keep theirs.'),
    seconds: Type.Optional(Type.Number({ minimum: 0, maximum: 3600, description: 'Duration of a pull; 0: no delay.' })),
    image: text('Only this image. Default: every image.'),
    workerId: text('A live worker.'),
    endpointId: text('An endpoint whose next starts crash.'),
    starts: whole(1000, 'Number of starts that crash; default 3.'),
    exitCode: whole(255, 'Exit code of the worker; default 1.'),
    graceSeconds: whole(3600, 'Time that a preempted worker has to exit; default 5.'),
  },
  { $id: 'SimulateRequest', description: 'Podyard only: a change of the simulation.' },
);

export const SIMULATION_SCHEMAS: NamedSchemas = [
  [SimulationResponse, { gpus: [{ pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 4 }], slowPull: null }],
  [SimulateRequest, { action: 'capacity', pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 0 }],
];
