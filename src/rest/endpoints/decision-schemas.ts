import { Type } from 'typebox';
import { dateTime, stringEnum } from '../shared/schema.ts';

const DecisionResponse = Type.Object({
  at: dateTime(),
  wanted: Type.Integer({ description: 'Desired number of workers.' }),
  reason: Type.String({ description: 'Why this number.' }),
  inputs: Type.Record(Type.String(), Type.Unknown(), { description: 'Numbers that the decision is based on.' }),
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
  { $id: 'DecisionList', description: 'Podyard only: the latest scaling decisions that changed something.' },
);

export const DecisionQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of decisions.' }),
  ),
});
