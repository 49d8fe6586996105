import {
  type ASTVisitor,
  GraphQLID,
  type GraphQLInputType,
  GraphQLList,
  type GraphQLNamedType,
  GraphQLNonNull,
  GraphQLString,
  getNamedType,
  isEnumType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  typeFromAST,
  type ValidationContext,
  VariablesInAllowedPositionRule,
} from 'graphql';

/**
 * The specification's rule for variables in allowed positions, except that a String variable may also be used for an ID or an
 * enum, and an ID variable for a String: clients differ in what they declare, but always send a string.
 */
export function VariablesFitRule(context: ValidationContext): ASTVisitor {
  const usagesOf = (operation: OperationDefinitionNode) =>
    context.getRecursiveVariableUsages(operation).map((usage) => {
      const name = usage.node.name.value;
      const definition = operation.variableDefinitions?.find(({ variable }) => variable.name.value === name);
      const declared = definition && getNamedType(typeFromAST(context.getSchema(), definition.type));
      return declared && usage.type ? { ...usage, type: asDeclared(usage.type, declared) } : usage;
    });
  const lenient = Object.create(context, { getRecursiveVariableUsages: { value: usagesOf } }) as ValidationContext;
  return VariablesInAllowedPositionRule(lenient);
}

function asDeclared(type: GraphQLInputType, declared: GraphQLNamedType): GraphQLInputType {
  const expected = getNamedType(type);
  const isText = expected === GraphQLString || expected === GraphQLID;
  if (declared === GraphQLString && (isText || isEnumType(expected))) return withName(type, GraphQLString);
  return declared === GraphQLID && isText ? withName(type, GraphQLID) : type;
}

function withName(type: GraphQLInputType, name: GraphQLInputType): GraphQLInputType {
  if (isNonNullType(type)) return new GraphQLNonNull(withName(type.ofType, name) as never);
  return isListType(type) ? new GraphQLList(withName(type.ofType, name)) : name;
}
