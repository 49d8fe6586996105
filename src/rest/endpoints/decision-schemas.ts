import { CAUSES } from '../../scaling/because.ts';
import { dateTime, nullableString, pageLimit, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const DecisionResponse = Type.Object({
  at: dateTime(),
  wanted: Type.Integer({ description: 'Desired number of workers.' }),
  reason: Type.String({ description: 'Why this number.' }),
  inputs: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Numbers that the decision is based on. Empty when the scaler did not make it.',
  }),
  actions: Type.Array(
    Type.Object({
      kind: stringEnum(['start', 'thaw', 'freeze', 'stop', 'drain', 'exit'], {
        description: '`exit`: it ended, or could not be started, without an order.',
      }),
      workerId: Type.String(),
      cause: nullableString({
        enum: [...CAUSES, null],
        description: 'Why, from a fixed list. Null in decisions of earlier versions.',
      }),
      reason: Type.String({ description: 'The cause in words.' }),
    }),
  ),
});

export const DecisionList = Type.Object(
  { decisions: Type.Array(DecisionResponse, { description: 'Newest first.' }) },
  { $id: 'DecisionList', description: 'Podyard only: the latest decisions that changed something.' },
);

export const DecisionQuery = Type.Object({
  limit: pageLimit('decisions', { max: 100, default: 20 }),
});
