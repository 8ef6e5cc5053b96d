import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RecordSplitter } from './jsonl.ts';

test('records come out whole, however the bytes are cut', () => {
	const records = fc.array(
		fc.record({ text: fc.string({ unit: 'binary', maxLength: 40 }), rest: fc.json() }),
		{ maxLength: 8 },
	);

	fc.assert(
		fc.property(records, fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (values, sizes) => {
			const bytes = Buffer.from(values.map((value) => JSON.stringify(value) + '\n').join(''));
			const splitter = new RecordSplitter();
			const seen: unknown[] = [];

			for (let at = 0; at < bytes.length;) {
				const size = sizes.next().value!;
				for (const record of splitter.push(bytes.subarray(at, at + size))) {
					seen.push(JSON.parse(record));
				}
				at += size;
			}

			expect(seen).toEqual(JSON.parse(JSON.stringify(values)));
		}),
	);
});

test('U+2028 and U+2029 do not end a record, CRLF does', () => {
	const splitter = new RecordSplitter();

	expect(splitter.push(Buffer.from('{"a":"\u2028\u2029"}\r\n\n{"b":1}\n{"c'))).toEqual([
		'{"a":"\u2028\u2029"}',
		'{"b":1}',
	]);
});
