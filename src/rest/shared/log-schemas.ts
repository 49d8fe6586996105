import { Type } from 'typebox';
import { stringEnum } from './schema.ts';

export const LogQuery = Type.Object({
  source: Type.Optional(
    stringEnum(['container', 'system'], { description: 'Lines of this source only. Absent: both.' }),
  ),
  tail: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 5000,
      default: 100,
      description: 'Number of stored lines to start with, from the end.',
    }),
  ),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Start at this time; `tail` is ignored.' })),
});

export const LogHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ description: 'Resume after this event id or time; wins over the query.' }),
  ),
});
