import { Type } from 'typebox';
import { stringEnum } from './schema.ts';

export const LogQuery = Type.Object({
  source: Type.Optional(stringEnum(['container', 'system'], { description: 'Absent: both.' })),
  tail: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 5000, default: 100, description: 'Begin with the last so many lines.' }),
  ),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Begin at this time; `tail` is ignored.' })),
});

export const LogHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ description: 'Go on after this event, or after this time; wins over the query.' }),
  ),
});
