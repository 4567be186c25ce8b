/** The accounts that limits are counted for, as texts. Accounts of two kinds never have the same text. */
import { isIPv6 } from "node:net";
import type { Caller } from "../auth/caller.js";

/** Callers with the same name but another kind of credential or another role have accounts of their own, because a JWT may have any `sub`. */
export function accountOf({ kind, role, name }: Caller): string {
  return `${kind} ${role} ${name}`;
}

/** The account of a client without credentials. */
export function addressAccount(address: string): string {
  return `address ${networkOf(address)}`;
}

/** The /64 network of an IPv6 address, because a host can choose the lower half of its address freely. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes(".")) return address;
  const [head = "", tail] = address.toLowerCase().split("%", 1)[0]?.split("::") ?? [];
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const gap = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return `${[...left, ...gap, ...right].slice(0, 4).join(":")}::/64`;
}
