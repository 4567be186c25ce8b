/** Texts that tell apart whom limits are counted for. No two kinds of account can have the same text. */
import { isIPv6 } from "node:net";
import type { Caller } from "../auth/caller.js";

/** Callers of one name are different callers if their credential or role differs: anybody's JWT may carry any `sub`. */
export function accountOf({ kind, role, name }: Caller): string {
  return `${kind} ${role} ${name}`;
}

/** Of a client that has not said who it is. */
export function addressAccount(address: string): string {
  return `address ${networkOf(address)}`;
}

/** IPv6 hosts choose the lower half of their address as they like, so that half tells nothing. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes(".")) return address;
  const [head = "", tail] = address.toLowerCase().split("%", 1)[0]?.split("::") ?? [];
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const gap = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return `${[...left, ...gap, ...right].slice(0, 4).join(":")}::/64`;
}
