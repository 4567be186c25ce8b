/** What `tenure.proto` has promised to its users so far: the numbers and types of fields, and the messages of methods. */
import { loadSync, type MessageTypeDefinition } from "@grpc/proto-loader";

export interface RegisteredMessage {
  readonly fields: ReadonlyMap<string, { readonly number: number; readonly type: string }>;
  /** Numbers and names of fields that the message once had. */
  readonly reserved: readonly number[];
  readonly reservedNames: readonly string[];
}

export interface ProtoRegistry {
  readonly messages: ReadonlyMap<string, RegisteredMessage>;
  /** The request and the response of `Service/Method`. */
  readonly methods: ReadonlyMap<string, readonly [request: string, reply: string]>;
}

/** The part of a DescriptorProto that is read here, as protobufjs makes it: ranges include their end. */
interface Descriptor {
  readonly name: string;
  readonly field: readonly {
    readonly name: string;
    readonly number: number;
    readonly label: string;
    readonly type: string;
    readonly typeName: string;
  }[];
  readonly reservedRange: readonly { readonly start: number; readonly end: number }[];
  readonly reservedName: readonly string[];
}

export function readRegistry(path: string): ProtoRegistry {
  const messages = new Map<string, RegisteredMessage>();
  const methods = new Map<string, readonly [string, string]>();
  for (const [fullName, definition] of Object.entries(loadSync(path, { keepCase: true }))) {
    const name = fullName.slice(fullName.lastIndexOf(".") + 1);
    if ("format" in definition) {
      messages.set(name, registered(descriptorOf(definition as MessageTypeDefinition<object, object>)));
      continue;
    }
    for (const [method, { requestType, responseType }] of Object.entries(definition))
      methods.set(`${name}/${method}`, [descriptorOf(requestType).name, descriptorOf(responseType).name]);
  }
  return { messages, methods };
}

function descriptorOf(definition: MessageTypeDefinition<object, object>): Descriptor {
  return definition.type as Descriptor;
}

function registered({ field, reservedRange, reservedName }: Descriptor): RegisteredMessage {
  const fields = field.map(({ name, number, label, type, typeName }) => {
    const one = type === "TYPE_MESSAGE" ? typeName : type.slice("TYPE_".length).toLowerCase();
    return [name, { number, type: label === "LABEL_REPEATED" ? `repeated ${one}` : one }] as const;
  });
  const reserved = reservedRange.flatMap(({ start, end }) =>
    Array.from({ length: end - start + 1 }, (_, index) => start + index),
  );
  return { fields: new Map(fields), reserved, reservedNames: reservedName };
}
