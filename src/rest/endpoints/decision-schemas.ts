import { Type } from 'typebox';
import { dateTime, stringEnum } from '../shared/schema.ts';

const DecisionResponse = Type.Object({
  at: dateTime(),
  wanted: Type.Integer({ description: 'How many workers there should be.' }),
  reason: Type.String({ description: 'Why so many.' }),
  inputs: Type.Record(Type.String(), Type.Unknown(), { description: 'What the decision was made of, in numbers.' }),
  actions: Type.Array(
    Type.Object({
      kind: stringEnum(['start', 'thaw', 'freeze', 'stop', 'drain']),
      workerId: Type.String(),
      reason: Type.String(),
    }),
  ),
});

export const DecisionList = Type.Object(
  { decisions: Type.Array(DecisionResponse, { description: 'Newest first.' }) },
  { $id: 'DecisionList', description: 'Podyard only: the last scaling decisions that changed something.' },
);

export const DecisionQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'How many.' })),
});
