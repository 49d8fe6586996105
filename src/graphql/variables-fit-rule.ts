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
 * The specification's rule for where a variable may stand, but one declared as String may also stand for an ID or an enum, and
 * one declared as ID for a String: clients differ in what they declare, and what they send is a text in any case.
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
