import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameReader } from "./frame-reader.js";
import { JuteReader, JuteWriter } from "./jute.js";

const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const text = fc.string({ unit: "grapheme", maxLength: 300 });

describe("JuteWriter and JuteReader", () => {
  test("written values are read back, however large the buffer grows", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(int, fc.boolean(), text)), (values) => {
        const writer = new JuteWriter();
        for (const [number, flag, string] of values) writer.int(number).flag(flag).text(string).zeroLong();
        const frame = writer.frame();
        expect(frame.readInt32BE(0)).toBe(frame.length - 4);
        const reader = new JuteReader(frame.subarray(4));
        for (const [number, flag, string] of values) {
          expect([reader.int(), reader.flag(), reader.text(), reader.zxid()]).toEqual([
            number,
            flag,
            string,
            0,
          ]);
        }
        expect(() => reader.int()).toThrow(RangeError);
      }),
    );
  });

  test("a missing text is read as empty, and a text longer than its buffer throws a RangeError", () => {
    expect(new JuteReader(new JuteWriter().int(-1).frame().subarray(4)).text()).toBe("");
    expect(() => new JuteReader(new JuteWriter().int(5).frame().subarray(4)).text()).toThrow(RangeError);
  });

  test("a zxid is exact up to the last epoch that a number can hold", () => {
    const read = (epoch: number, counter: number): number => {
      const bytes = Buffer.alloc(8);
      bytes.writeInt32BE(epoch, 0);
      bytes.writeUInt32BE(counter, 4);
      return new JuteReader(bytes).zxid();
    };
    expect(read(0, 1)).toBe(1);
    expect(read(5000, 0xffff_ffff)).toBe(5000 * 2 ** 32 + 2 ** 32 - 1);
    expect(read(2 ** 21 - 1, 0xffff_ffff)).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => read(2 ** 21, 0)).toThrow(/epoch 2097152 is too high/);
    expect(read(-1, 0xffff_ffff)).toBe(-1);
  });
});

describe("FrameReader", () => {
  test("frames are read completely, wherever the stream was split", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 50 })),
        fc.array(fc.integer({ min: 1, max: 60 })),
        (frames, cuts) => {
          const stream = Buffer.concat(
            frames.flatMap((frame) => {
              const length = Buffer.alloc(4);
              length.writeInt32BE(frame.length);
              return [length, Buffer.from(frame)];
            }),
          );
          const reader = new FrameReader();
          const found: Uint8Array[] = [];
          const take = (frame: Buffer): void => void found.push(new Uint8Array(frame));
          let offset = 0;
          for (const cut of cuts) {
            reader.push(stream.subarray(offset, offset + cut), take);
            offset += cut;
          }
          reader.push(stream.subarray(offset), take);
          expect(found).toEqual(frames);
        },
      ),
    );
  });

  test("an impossible frame length throws a RangeError", () => {
    const answer = Buffer.from("HTTP/1.1 400 Bad Request\r\n");
    expect(() => new FrameReader().push(answer, () => undefined)).toThrow(RangeError);
  });
});
