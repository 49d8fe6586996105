import { Type } from 'typebox';
import { closed, nullableString, stringEnum } from '../shared/schema.ts';

export const SimulationResponse = Type.Object(
  {
    gpus: Type.Array(
      Type.Object({ pool: Type.String(), dataCenterId: Type.String(), total: Type.Integer({ minimum: 0 }) }),
    ),
    slowPull: Type.Unsafe<{ seconds: number; image: string | null } | null>({
      type: ['object', 'null'],
      properties: { seconds: { type: 'number' }, image: nullableString({ description: 'null: every image.' }) },
      required: ['seconds', 'image'],
    }),
  },
  { $id: 'Simulation', description: 'Podyard only: what a server with simulated GPUs pretends.' },
);

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 500, description }));
const whole = (maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum, description }));

export const SimulateRequest = closed(
  {
    action: stringEnum(['capacity', 'slow-pull', 'crash', 'preempt', 'reset'], {
      description:
        '`capacity` (pool, total) sets how many GPUs there are; `slow-pull` (seconds) makes every start wait for its ' +
        'image; `crash` (workerId, or endpointId for its next starts) and `preempt` (workerId) end workers; `reset` ' +
        'goes back to what the server was started with.',
    }),
    pool: text('GPU pool.'),
    dataCenterId: text('Absent: the machine’s own.'),
    total: whole(100_000, 'GPUs from now on. What runs keeps what it has.'),
    seconds: Type.Optional(Type.Number({ minimum: 0, maximum: 3600, description: '0 ends it.' })),
    image: text('Absent: every image.'),
    workerId: text('A live worker.'),
    endpointId: text('An endpoint whose next starts crash.'),
    starts: whole(1000, 'How many of them; default 3.'),
    exitCode: whole(255, 'Default 1.'),
    graceSeconds: whole(3600, 'What a preempted worker gets to end by itself; default 5.'),
  },
  { $id: 'SimulateRequest', description: 'Podyard only.' },
);
