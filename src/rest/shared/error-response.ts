import { Type } from 'typebox';

export const ErrorResponse = Type.Object(
  {
    title: Type.String({ description: 'Short summary of the kind of error.' }),
    status: Type.Integer({ description: 'The HTTP status code.' }),
    detail: Type.String({ description: 'What went wrong, for people.' }),
    errors: Type.Optional(
      Type.Array(Type.String(), { description: 'Single validation failures, each `location: failure`.' }),
    ),
  },
  { $id: 'ErrorResponse', description: 'Every error of the interface.' },
);
