import { Type } from './type.ts';

export const ErrorResponse = Type.Object(
  {
    title: Type.String({ description: 'Summary of the kind of error.' }),
    status: Type.Integer({ description: 'The HTTP status code.' }),
    detail: Type.String({ description: 'What went wrong, in words.' }),
    errors: Type.Optional(
      Type.Array(Type.String(), { description: 'Validation failures, each as `location: failure`.' }),
    ),
  },
  { $id: 'ErrorResponse', description: 'The body of every error response.' },
);
