"""Every error and warning code, and the exceptions that carry them.

    RagworthyError            somebody has to do something; exit 2
    ├── DataError             fix the gold set, the traces or another input file
    ├── PolicyError           fix the policy or the gates
    ├── UsageError            fix the command line or the call
    └── MissingExtra          install an optional part

A code is stable: it keeps its meaning for ever. `explain CODE` prints what stands here.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ragworthy.text import visible

MOST_PROBLEMS = 20


class Code(NamedTuple):
    """One line of the catalogue."""

    name: str
    means: str
    do: str


CATALOGUE: dict[str, Code] = {
    # files
    "RW-F01": Code("file_missing", "The file does not exist.", "Check the path; it is relative to the working folder, or to the policy's folder when the policy names it."),
    "RW-F02": Code("is_a_folder", "A folder stands where a file is expected.", "Name the file inside the folder."),
    "RW-F03": Code("unreadable", "The file exists but cannot be read.", "Check its permissions."),
    "RW-F04": Code("empty_file", "The file holds no record.", "Check how it was written; a gate never passes on nothing."),
    "RW-F05": Code("line_too_long", "One line is longer than 32 MiB.", "JSONL needs one record a line; was a JSON array or a single huge object written instead?"),
    "RW-F06": Code("not_utf8", "The file is not valid UTF-8.", "Write it as UTF-8 (a BOM is tolerated)."),
    "RW-F07": Code("bad_json", "The line is not valid JSON.", "Write one JSON object a line; NaN and Infinity are not JSON."),
    "RW-F08": Code("not_an_object", "The line is JSON, but not an object.", "Write one JSON object a line."),
    "RW-F09": Code("cut_off", "The last line stops in the middle of a record.", "The writer died or the disk was full: write the file again."),
    "RW-F10": Code("nul_byte", "The line contains a NUL byte.", "The file is damaged or not UTF-8 (UTF-16?): write it again as UTF-8."),
    "RW-F11": Code("too_deep", "The JSON is nested too deeply to be read.", "A record is flat; look at what wrote this line."),
    "RW-F12": Code("bad_compression", "The compressed file is damaged or cut off.", "Compress it again."),
    "RW-F13": Code("bad_parquet", "The Parquet file cannot be read.", "Check that it is a whole Parquet file."),
    "RW-F14": Code("cannot_write", "The output cannot be written.", "Check the folder, its permissions and the free space; the old file is untouched."),
    "RW-F15": Code("extra_missing", "A package that this needs is not installed.", "Install it with the pip line shown."),
    "RW-F16": Code("changed_meanwhile", "An input changed while it was being read.", "Let the writer finish, then run again."),
    "RW-F17": Code("unknown_format", "The output format is not known.", "Use .json .md .xml .txt, or .jsonl .parquet .csv for rows."),
    "RW-F18": Code("not_a_file", "A pipe or a device stands where a file is expected.", "Save what comes out of it to a file first, and name that."),
    "RW-F19": Code("too_large", "The file is larger than anything of its kind should be.", "Check that it is the file you mean; the line says the limit."),
    "RW-F20": Code("unpacks_to_too_much", "A packed file holds far more than a file of its size should.", "It is padding or damaged; unpack it yourself and look."),
    "RW-F21": Code("out_of_memory", "The machine has no more memory.", "Score a smaller input, use fewer processes (--jobs 1), or a larger machine."),
    "RW-F22": Code("foreign_file", "The file is of another kind: a table, a JSON array, or what another tool writes.", "Do as the line says, and give what comes of it; docs/troubleshooting.md has every case."),
    "RW-F23": Code("other_kind", "The file is one of ours, but of another kind than the one expected here.", "Check which file is which; docs/formats.md shows every kind."),
    "RW-F24": Code("no_known_field", "No record has a field that every record of this kind needs.", "Say which field is which, as the line shows; docs/formats.md has the names."),
    # gold
    "RW-G01": Code("gold_qid", "A gold item has no usable qid.", "Give every item a non-empty string as qid."),
    "RW-G02": Code("gold_qid_repeated", "Two gold items have the same qid.", "Make every qid unique; clone an item under a new qid instead of changing its meaning."),
    "RW-G03": Code("gold_type", "A gold field has the wrong type.", 'Change the value to the type named; ids are texts, so quote numbers: "4", not 4.'),
    "RW-G04": Code("gold_answerable", "A gold item does not say whether it is answerable.", "Set answerable to true or false (a JSON boolean)."),
    "RW-G05": Code("gold_empty", "The gold set holds no item.", "An empty gold set can show nothing: add questions."),
    "RW-G06": Code("answerable_without_citations", "An answerable item names no evidence, and no text that a right claim has.", "Write what a right claim contains (gold_claim_substr), or name the evidence: its text (gold_evidence), where it stands (gold_source) or the ids of its chunks (gold_citations)."),
    "RW-G07": Code("only_short_substr", "Every gold_claim_substr entry of an answerable item is shorter than 5 characters, so no answer can be right.", 'Give a longer piece, or leave short_substr at "word" (the default), under which short pieces count as whole words.'),
    "RW-G08": Code("unanswerable_with_gold", "An unanswerable item carries gold text or citations.", "Empty gold_claim_substr and gold_citations (in gold of retrieval: relevant), remove gold_reference and gold_evidence, or set answerable to true."),
    "RW-G27": Code("blank_reference", "A gold_reference holds no word and no number.", "Write the sentence that a right answer says, or leave the field out."),
    "RW-G10": Code("no_relevant", "A retrieval question names no relevant block.", "List the ids of the blocks that answer it in relevant, or set answerable to false."),
    "RW-G11": Code("negative_is_relevant", "A block is listed as relevant and as a hard negative.", "Take it out of one of the two lists."),
    "RW-G12": Code("no_wording", "A retrieval question has an empty wording, or none that could be asked.", "Write the question as question, or its wordings as paraphrases; one is enough."),
    "RW-G13": Code("gold_id_unknown", "The gold set names a block or section that the index does not have.", "Score against the index the gold set was written for, rewrite it with 'ragworthy gold rebind', or say what the evidence is (gold_evidence): that survives any chunking."),
    "RW-G15": Code("gold_id_reused", "A gold id does not have the text it had when the gold set was frozen.", "Follow the ids with --redirects ('ragworthy index migrate' makes the table), or rewrite the gold set with 'ragworthy gold rebind' and freeze it again."),
    "RW-G14": Code("gold_offsets", "A gold offset pair is not a range inside the text.", "Offsets are UTF-8 bytes, half-open: [begin, end) with begin < end."),
    "RW-G16": Code("nothing_to_ask", "A gold item has no text that could be asked.", "Give it a question, or at least one paraphrase."),
    "RW-G17": Code("evidence_unbound", "No chunk of the corpus holds a piece of gold evidence.", "'ragworthy gold bind' lists each with the nearest chunk: mend the evidence where the document was edited, or the corpus where the document is missing."),
    "RW-G18": Code("nothing_to_bind", "No item of the gold set says what its evidence is, or where it stands.", "Give items gold_evidence (texts) or gold_source (documents); see docs/gold.md."),
    "RW-G19": Code("chunk_again", "A chunk stands in the corpus more than once, each time with the same text.", "It counts once. Write every chunk once: with another text under the same id nobody could say what the id means (RW-I06)."),
    "RW-G20": Code("ids_not_checked", "Items name evidence and ids, and no corpus was given to look up whether the ids still hold the evidence.", "Give the chunks with --corpus: the evidence is then bound to them, and the ids do not matter."),
    "RW-G21": Code("gold_ids_stale", "The chunks that gold ids name do not hold the gold text, and other chunks do: the ids are of another chunking.", "Say what the evidence is (gold_evidence): that survives any chunking. Or rewrite the ids with 'ragworthy gold rebind'."),
    "RW-G23": Code("evidence_needs_index", "Evidence and sources are bound to the chunks of an index, and none was given.", "Give the index or its chunks with --corpus, or write the ids into the gold set with 'ragworthy gold bind'."),
    "RW-G24": Code("no_evidence_in_index", "Nothing of what answers a question is in the index.", "Compare the names in gold_source with the documents of the index ('ragworthy index check INDEX --gold GOLD'), or correct gold_evidence."),
    "RW-G25": Code("other_chunking", "The gold ids are blocks of one index, and the other one cuts the same documents differently.", "Say what answers each question as gold_evidence and check it with 'ragworthy gold bind': each index is then held against its own chunks."),
    "RW-G26": Code("whose_ids", "Both indexes have the ids of the gold set, under other texts.", "Freeze the gold set on the index whose ids it has ('ragworthy gold freeze GOLD --corpus INDEX'), or say what answers each question as gold_evidence."),
    "RW-G29": Code("bad_choice", "A line of suggested evidence was answered in a way that means nothing.", "Write the number of a candidate into accept, a list of numbers, 0 for none of them, or leave null."),
    # questions with structured answers
    "RW-Q01": Code("question_shape", "A question does not have the shape that its definition asks for.", "Give every question an id, a question and the expected fields, each of its kind; name the definition of another schema with --definition."),
    "RW-Q02": Code("question_legacy", "A question has the old form (must_include, keywords), which this method cannot score.", "Write the expected fields as answer_example, with source_map."),
    "RW-Q03": Code("question_empty", "A question has no text.", "Write the question; --allow-gold-errors scores it anyway."),
    "RW-Q04": Code("subset_parent", "The subset was drawn from another question set, or changed after it was drawn.", "Draw it again: 'ragworthy gold subset QUESTIONS -o SUBSET'."),
    "RW-Q05": Code("subset_unreadable", "The subset file cannot be read.", "Draw it again: 'ragworthy gold subset QUESTIONS -o SUBSET'."),
    # traces
    "RW-T01": Code("trace_qid", "A trace has no usable qid.", "Write the qid of the gold item as a string in qid (or q_id)."),
    "RW-T02": Code("trace_type", "A trace field has the wrong type.", 'Change what the pipeline writes (ids are texts, so quote numbers: "4", not 4); see the trace contract in docs/formats.md.'),
    "RW-T03": Code("trace_offsets", "An offset pair of a trace is not a range inside the text.", "Offsets are UTF-8 bytes into the canonical text, half-open: [begin, end) with begin < end."),
    "RW-T04": Code("delta_s_length", "The list of distances is not as long as the list of results.", "Write one distance for each item of topk, in the same order."),
    "RW-T05": Code("mixed_index", "The traces of one file come from several indexes.", "Write one file for each index: numbers over a mixture mean nothing."),
    "RW-T10": Code("run_time", "A time of a run is not a number of milliseconds.", "Write e2e_ms (and the stages) as numbers from 0; a run that failed or timed out has a time too."),
    "RW-T11": Code("run_question", "A run belongs to no question of the gold set.", "Give the gold set that the runs were made with."),
    "RW-T12": Code("runs_table", "The CSV file of runs does not have the right shape.", "The first line names the columns, qid and e2e_ms among them; cells that hold commas stand in double quotes."),
    "RW-T13": Code("run_knobs", "The knobs of a run cannot be read, or one configuration has several.", "Write knobs as an object, as its JSON text or as a=1;b=2; give every set of knobs its own config_id, or none."),
    "RW-T14": Code("no_answers", "No trace has an answer where answers are read from, and none has an error.", "Say which field holds the answer, as the line shows, or change what the pipeline writes (docs/formats.md)."),
    "RW-T15": Code("no_results", "No trace has results where results are read from, and none has an error.", "Say which field holds the results, as the line shows, or change what the pipeline writes (docs/formats.md)."),
    # votes
    "RW-V01": Code("vote_qid", "A vote does not say which answer it is about.", "Write the id of the question as a string in qid (or q_id)."),
    "RW-V02": Code("vote_type", "A field of a vote is missing or has the wrong type.", "Change what writes the votes; docs/formats.md has the form of each file."),
    "RW-V03": Code("vote_label", "A validator gives a label that does not exist.", "Use VALID, NOT_IN_CONTEXT, REJECT or ABSTAIN, in capitals; INVALID is taken as REJECT."),
    "RW-V04": Code("unknown_fix", "An operator record names a fix that is not on the list.", "Use one of the fixes of the policy, or add this one to fixes under [agreement]."),
    # TREC files
    "RW-E01": Code("trec_line", "A line of a TREC file has the wrong shape.", "A qrels line is 'query iteration document grade'; a run line is 'query Q0 document rank score tag'."),
    "RW-E02": Code("trec_repeated", "A document stands twice under one query.", "Keep one line for each query and document."),
    "RW-E03": Code("trec_topic", "A topic has the wrong shape.", 'A topic is a line {"qid", "query"}, or <top> with <num> and <title>; each query has one.'),
    # import
    "RW-A01": Code("import_columns", "A column that is needed is not there, or several could be meant.", "Say which column is which with --map, as the line shows."),
    "RW-A02": Code("import_nothing", "Nothing in the file could be read as a question, an answer or a text.", "Check that it is the file you mean, and of this format."),
    "RW-A03": Code("import_shape", "The file does not have the shape of its format.", "Export it again from the tool that wrote it, or name another format: 'ragworthy import --help'."),
    "RW-A04": Code("import_map", "The mapping of --map cannot be read.", "Write FIELD=COLUMN, several with commas between them, or name a TOML file of such lines."),
    "RW-A05": Code("import_encoding", "The file is not in the encoding that was expected.", "Save it as UTF-8 (in a spreadsheet: 'CSV UTF-8'), or name the encoding with --encoding."),
    "RW-A06": Code("import_table", "The table cannot be read.", "Save it again as CSV: one row a record, cells with line breaks or quotes in double quotes."),
    "RW-A07": Code("import_sheet", "The workbook or the sheet cannot be read.", "Save it as .xlsx, and name the sheet with --sheet."),
    "RW-A08": Code("import_ids", "Texts stand where ids are expected.", "Say which column is which with --map, as the line shows."),
    "RW-A09": Code("import_map_column", "--map names a column that is not there.", "Write the column as the file has it; in JSON, a path begins with a field of the records."),
    "RW-A10": Code("spans_damaged", "A span lost attributes while it was recorded, so what was retrieved or said is not known.", "Record again with OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=100000 in the pipeline's environment (the SDK keeps 128 attributes a span and drops the oldest: the first documents); --skip-damaged leaves these traces out."),
    "RW-A11": Code("document_without_id", "A retrieved document has no id by the rule of --doc-id.", "Name metadata keys that every document has, or use --doc-id content."),
    "RW-A12": Code("span_shape", "A span, a run or a record does not have the shape of its format.", "Check that the file is of this format and whole; 'ragworthy import --help' lists the formats."),
    "RW-A13": Code("values_cut", "Values of a span were cut off while it was recorded, so what was retrieved or said is not known.", "Record again without OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT (and OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT) in the pipeline's environment; --skip-damaged leaves these traces out."),
    # documents
    "RW-D01": Code("document_not_text", "The file is binary or not UTF-8.", "Give Markdown, HTML, plain text or block records; convert other formats first."),
    "RW-D02": Code("document_repeated", "Two documents have the same id.", "Give every document its own path."),
    "RW-D03": Code("no_documents", "There is no document with text.", "Check the folder: .md .markdown .html .htm .txt and .jsonl files are read."),
    "RW-D04": Code("document_too_large", "A document is larger than 32 MiB.", "Split it: no reader finds a sentence in 32 MiB either."),
    "RW-D05": Code("document_record", "A document or block record has the wrong shape.", "A document is {path, text}; a block is {chunk_id, text}, with doc_id, section_id, type and offsets where they are known."),
    "RW-D06": Code("document_id", "A document id cannot be used.", "Ids are non-empty and hold no '|' and no control characters."),
    # indexes
    "RW-I01": Code("not_an_index", "The folder is not an index.", "Build one with 'ragworthy index build --docs DIR --out DIR'."),
    "RW-I02": Code("index_altered", "A file of the index is missing or was changed after the build.", "Build the index again."),
    "RW-I03": Code("index_manifest", "The manifest of the index cannot be read, or does not list what an index needs.", "Build the index again."),
    "RW-I04": Code("model_unavailable", "The embedding model cannot be used.", "Install it, or build with --dense none."),
    "RW-I06": Code("chunk_repeated", "Two chunks have the same id.", "Make every block id unique; the collision rate must be 0."),
    "RW-I07": Code("chunk_bytes", "The text of a chunk is not the slice of the canonical text that its offsets name.", "Build the index again, or mend the offsets in the block file."),
    "RW-I08": Code("endpoint", "The embedding endpoint did not give vectors.", "Check the address, the key and the model name; nothing was written."),
    "RW-I09": Code("not_ours", "The output folder holds something that is not an index.", "Choose another folder: nothing of yours is overwritten."),
    "RW-I10": Code("mode_unavailable", "The index cannot search in this mode.", "Build it with a dense model, or search with --mode bm25."),
    "RW-I11": Code("index_counts", "The counts of documents, chunks and vectors do not agree.", "Build the index again."),
    "RW-I12": Code("vector_length", "A stored vector is not of unit length.", "Build the index again."),
    "RW-M01": Code("redirects_unreadable", "The redirect table cannot be read.", "Write it with 'ragworthy index migrate OLD NEW -o FILE'."),
    "RW-M02": Code("redirect_circle", "Redirect tables lead in a circle.", "Give the tables in the order of the versions, oldest first."),
    "RW-M03": Code("redirects_apart", "Redirect tables do not follow one another.", "Give one table for each step from the oldest version to the newest."),
    "RW-M04": Code("redirects_do_not_fit", "The records belong to a version that the redirect tables do not lead from.", "Give the tables that start at this version; records that are at the newest one need none."),
    # other inputs
    "RW-C01": Code("chunk_record", "A chunk record has the wrong shape.", "Chunks need chunk_id and text, both strings."),
    "RW-K01": Code("pack", "A rule pack cannot be read or has the wrong shape.", "A pack has an id and [[rule]] tables with locked and claim, both regular expressions."),
    "RW-K02": Code("prices", "The price list cannot be read or has the wrong shape.", "It has currency and [[price]] tables with per_1k, or input_per_1k and output_per_1k, and model or stage where it is not for all; [budget] has cap, spent, day and days."),
    "RW-B01": Code("baseline_unreadable", "The baseline is not a Ragworthy report.", "Name a JSON report written with -o FILE.json by an accepted run."),
    "RW-L01": Code("lock_unreadable", "The lock file cannot be read.", "Freeze the gold set again with 'ragworthy gold freeze'."),
    "RW-L02": Code("gold_not_frozen", "The gold set is not the one that was frozen.", "Restore it, or freeze the change with 'ragworthy gold freeze --signer NAME --reason WHY'; --unfrozen scores it anyway, marked."),
    "RW-L03": Code("signer_missing", "A required signer has not signed the gold set.", "Have them freeze it: 'ragworthy gold freeze --signer NAME --reason WHY'."),
    "RW-R01": Code("receipt_unreadable", "The receipt cannot be read.", "Name a receipt written by 'ragworthy gate' or 'score --receipt'."),
    "RW-R02": Code("receipt_differs", "The receipt does not re-derive.", "The line says which input moved or which part differs; run the gate again on the files you mean."),
    # the built-in pipeline
    "RW-N01": Code("tuning_unreadable", "The tuning file cannot be read or has the wrong shape.", "Write it again with 'ragworthy experiment tune'."),
    "RW-N02": Code("tuning_other_index", "The threshold was tuned on another index.", "Tune again on this index: 'ragworthy experiment tune --index DIR --gold FILE --out DIR'."),
    "RW-N03": Code("chat_endpoint", "The chat endpoint did not reply.", "Check the address, the key and the model name; the question has no answer."),
    "RW-N04": Code("chat_answer", "The chat model did not give a usable answer, twice.", "Use a model that keeps to JSON and cites from the context it is given."),
    # runs
    "RW-J01": Code("journal_there", "The folder already holds the journal of a run.", "Go on with that run with --resume (and --retry-errors, to ask errors again), or name a new folder; nothing is overwritten."),
    "RW-J02": Code("journal_differs", "The journal belongs to another run than the one asked for.", "Give the same target, gold set and settings as before, or name a new folder for the new run."),
    "RW-J03": Code("journal_damaged", "A line of the journal cannot be read.", "Remove the line named and resume: its question is asked again."),
    "RW-J04": Code("journal_busy", "Another run is at work in the folder.", "Wait until it ends, or name another folder."),
    "RW-J05": Code("journal_full", "A reply could not be written to the journal, so the run stopped.", "Make room, then run the same command with --resume: what is in the journal is kept."),
    "RW-J06": Code("target_unreachable", "Nothing answers at the target.", "Start it, or mend its address; then run the same command with --resume."),
    "RW-J07": Code("not_a_journal", "The file journal.jsonl of the folder is not the journal of a run, or its first line is damaged.", "Name a new folder; what is in this one is left alone."),
    "RW-J08": Code("stale_traces", "A run that has not ended, or another run over the same questions, lies beside the traces.", "End that run with --resume, name its traces.jsonl in the policy, or keep runs in folders of their own."),
    "RW-J09": Code("replies_unfit", "Ten replies in a row cannot be used, all for the same reason, so the run stopped.", "Mend the target ('ragworthy run --check' shows one reply); then the same command with --resume asks these again. --keep-going asks on, whatever comes."),
    "RW-J10": Code("reply_unfit", "The reply to a question does not have the shape of a reply.", 'Reply with {"answer_json": {"claim": "…", "citations": ["id", …]}, "retrieved_ids": ["id", …]}: docs/run.md.'),
    "RW-J11": Code("callable_signature", "The callable cannot be called with a question.", "Write a function around it that takes the question, or all five fields of the request:"),
    "RW-J12": Code("no_reply", "The target was asked one question and did not reply.", "Mend what the line says; docs/run.md lists the reasons."),
    # policy and gates
    "RW-P01": Code("policy_syntax", "The policy is not valid TOML.", "Fix the syntax at the place named."),
    "RW-P02": Code("policy_unknown_key", "The policy has a key that does not exist.", "Remove it or spell it as shown; docs/policy-keys.md lists every key."),
    "RW-P03": Code("policy_value", "A policy key has a value it cannot take.", "Change the value as the line says."),
    "RW-P04": Code("policy_unknown_metric", "A gate names a metric that does not exist.", "'ragworthy explain' lists every metric."),
    "RW-P05": Code("threshold_idle", "The threshold can never fail, or never pass.", "Choose a threshold inside the metric's range: a gate that can only pass, or only fail, decides nothing."),
    "RW-P06": Code("waiver_expired", "A waiver has expired.", "Fix what it waived, or renew it with a new date and reason."),
    "RW-P07": Code("waiver_unknown", "A waiver names a gate on a metric that does not exist.", "Remove it, or name the gate's metric."),
    "RW-P08": Code("policy_missing", "No policy was found.", "Run 'ragworthy init', or name one with -c."),
    "RW-P09": Code("must_pass_unknown", "must_pass names a question that is not in the gold set.", "Fix the qid."),
    "RW-P10": Code("gate_text", "The text given to --gates cannot be read.", "Write name=value pairs, e.g. precision=0.80,chr=0.75,under=0.05,over=0.10, or name a TOML file."),
    "RW-P11": Code("policy_key_missing", "The policy lacks a key it needs.", "Add it."),
    "RW-P12": Code("policy_no_suite", "The policy runs no suite.", "Add a section, e.g. [answers] with gold and traces."),
    "RW-P13": Code("gate_unreachable", "Perfect retrieval could not pass this gate.", 'Use calibrated distances (delta_s = "calibrated", the lock made with \'gold freeze --corpus\'), or a threshold that can be met.'),
    "RW-P14": Code("weights", "The weights of a definition do not sum to 1.", "Change them until they do; they are added up exactly, as decimals."),
    "RW-P15": Code("plugin", "A plugin cannot be loaded.", "See 'ragworthy doctor' for the installed ones; a file of your own is named by its path, ending in .py."),
    "RW-P16": Code("no_gate_left", "The default gates are left out and no other gate is named, so whatever was answered would ship.", "Name a gate ([[gate]], --gates, gates=), or leave the default ones in."),
    "RW-P17": Code("refusal_pattern", "A pattern of refusal_patterns cannot be used: it is no regular expression, takes too long, or matches everything.", "Write a simpler one: no nested repetitions, and something that must be there."),
    "RW-P18": Code("refusal_pack", "There is no refusal pack of this name.", "Name one of those listed; docs/refusals.md says what each is worth."),
    # usage
    "RW-U01": Code("usage", "The command or call cannot be carried out as given.", "See 'ragworthy COMMAND --help'."),
    "RW-U02": Code("reference_cannot", "The sources' own scorer stops with an error on this input.", "Score with the default profile, which names the faulty record."),
    "RW-U03": Code("would_overwrite", "A file is already there.", "Choose another place; nothing of yours is overwritten."),
    "RW-U04": Code("argument_not_utf8", "An argument is not UTF-8, so the file it names could not be written down.", "Rename the file, or write the argument as UTF-8."),
    "RW-U05": Code("python_value", "A value from Python cannot be written as JSON.", "Give texts, numbers, True, False, None, lists and dicts; dataclasses, models and NumPy values are read too: docs/python.md."),
    # a defect of ours
    "RW-X70": Code("defect", "Ragworthy itself failed.", "Report it with the command, the version and the lines shown."),
    # warnings
    "RW-W01": Code("refusal_not_exact", "A refusal is spelled with other case or blanks around it.", "Make the pipeline emit the refusal text exactly."),
    "RW-W02": Code("refusal_with_citations", "A refusal carries citations; they are ignored.", "Emit an empty citations list with a refusal."),
    "RW-W03": Code("near_refusal", "A shipped claim reads like a refusal but is none of the refusal texts, so it counts as an answer.", "Emit the exact refusal text, add this one to refusals, or name a refusal pack in the policy ('ragworthy doctor' prints the line)."),
    "RW-W04": Code("repeated_citation", "A citation id is repeated in one answer.", "Harmless for the score; tidy the pipeline."),
    "RW-W05": Code("no_retrieved_ids", "A trace has no retrieved_ids; nothing it cites can be in scope.", "Write the ranked ids the pipeline saw."),
    "RW-W06": Code("duplicate_traces", "Several traces have the same qid; the last one was scored.", "Write one trace a question, or start a new file for each run."),
    "RW-W07": Code("orphan_traces", "Traces whose qid is not in the gold set were left out.", "Check that traces and gold belong together."),
    "RW-W08": Code("vacuous_containment", "An answerable item has no gold_claim_substr, so any claim counts as containing it.", "Add the minimal text a right claim must contain."),
    "RW-W09": Code("short_entries", "A gold_claim_substr entry shorter than 5 characters never counts.", 'Remove it, lengthen it, or leave short_substr at "word" (the default).'),
    "RW-W10": Code("not_nfc", "Gold text is not in Unicode form NFC.", "Normalise the file; comparison does it anyway."),
    "RW-W11": Code("duplicate_questions", "The same question text stands under several qids.", "Repeated questions weigh twice: keep one."),
    "RW-W12": Code("no_unanswerable", "The gold set has no unanswerable question, so wrong answers to them cannot be measured.", "Add questions whose only right answer is the refusal."),
    "RW-W13": Code("gold_unlocked", "The gold set is not frozen, so nobody can tell whether it changed.", "Run 'ragworthy gold freeze'."),
    "RW-W14": Code("scu_not_in_use", "Gold items carry constraints that were not checked.", "Use --scu-enforced, scu = true, or a gate on answers.scu_violations."),
    "RW-W15": Code("small_gold_set", "The gold set is smaller than what its use needs.", "Smoke tests need 10 questions, a release 30."),
    "RW-W16": Code("unfrozen", "The gold set was scored although it is not the frozen one.", "This run cannot be a baseline."),
    "RW-W17": Code("unknown_chunks", "Cited ids are not in the corpus given.", "Give the chunk file of the index the run used."),
    "RW-W18": Code("near_duplicate_questions", "Two questions are worded almost alike.", "Keep one, or make sure that they test different things."),
    "RW-W19": Code("shared_wording", "An unanswerable question shares its wording with an answerable one.", "Check that it is really unanswerable; if so it is a good hard case."),
    "RW-W20": Code("thin_slice", "A slice holds too few questions to show anything.", "Add questions to it, or do not gate on it."),
    "RW-W21": Code("question_missing", "A gold item has no question text.", "Add it; reports and doctor show it."),
    "RW-W22": Code("baseline_not_shipped", "The baseline's own verdict was not SHIP.", "Compare with an accepted run."),
    "RW-W23": Code("lowered_gate", "A gate is looser than in the baseline.", "Have the change signed off."),
    "RW-W24": Code("errored_traces", "The pipeline reported an error, or wrote no answer at all: it counts against the gates, and neither as an answer nor as a refusal.", "Look at the error field of these traces."),
    "RW-W25": Code("too_small_for_gate", "The gold set is too small for a gate to mean anything.", "Add questions until the number named."),
    "RW-W26": Code("cannot_measure", "These files cannot show some of the metrics.", "The line says what is missing."),
    "RW-W27": Code("cited_by_rank", "Citations are the first result of the index, not those of an answer.", "Score the traces of the whole pipeline before it takes traffic."),
    "RW-W28": Code("state_differs", "A declared convergence state differs from the one the citations show.", "The computed one counts; mend what the pipeline writes."),
    "RW-W29": Code("type_differs", "A trace gives a block another type than the corpus.", "Traces and corpus may come from different builds."),
    "RW-W30": Code("incomplete_runs", "Some questions were not asked in three wordings under two seeds.", "Run every paraphrase and seed ('ragworthy retrieve' does)."),
    "RW-W31": Code("unknown_ids", "Traces name blocks that the corpus does not have.", "Give the index that the run used."),
    "RW-W32": Code("unjudged", "Queries of the run have no judgements and were left out.", "Judge them, or leave them out of the run."),
    "RW-W33": Code("retrieval_gold_size", "The retrieval gold set has a size it should not have.", "200 to 400 questions over headings, code, tables and prose."),
    "RW-W34": Code("type_uncovered", "No question of the gold set asks for a block of this type.", "Add questions on code, tables and figures where the corpus has them."),
    "RW-W35": Code("paraphrase_repeated", "Two paraphrases of a question are the same.", "Word each of the three differently; equal ones show nothing."),
    "RW-W36": Code("anchor_far", "The wording of a question is far from the section that should answer it.", "Check the question and its anchor section."),
    "RW-W37": Code("negative_far", "A hard negative is not near the anchor section.", "Hard negatives come from the same or a neighbouring section."),
    "RW-W40": Code("no_distance", "Answered questions have no distance, so ΔS says nothing of them.", "Record a distance for every result, or give the corpus and use raw or calibrated distances."),
    "RW-W39": Code("raw_distances", "Distances are on the raw scale of a model, on which the thresholds of gates mean nothing.", "Calibrate: 'ragworthy gold freeze GOLD --corpus INDEX --signer NAME --reason WHY'."),
    "RW-W41": Code("few_distinct", "Many questions are the same question under several ids, so there are fewer cases than it seems.", "Keep one of each ('ragworthy gold lint' names them); intervals count each once."),
    "RW-W42": Code("few_keywords", "An expected passage has too few keywords, or is too short, for any answer to get full marks.", "Quote a longer passage."),
    "RW-W43": Code("source_map_shape", "The source map of a question does not have the right shape; it is not scored.", "An entry has part and refs, a ref has file and anchors."),
    "RW-W44": Code("over_limit", "A list has more items than the answer may have.", "Ask for fewer in the prompt; only the first ones count."),
    "RW-W45": Code("repaired", "Answers were taken out of a code fence or other text; they never count as a schema pass.", "Make the model answer with the bare object."),
    "RW-W46": Code("grading_unused", "Questions carry grading weights that are not used.", "Weights stand in the definition."),
    "RW-W47": Code("slices_cut", "There are more slices than are shown.", "Slice by a field with fewer values."),
    "RW-W48": Code("provenance_missing", "The outputs do not say how they were made.", "Write prompt_sha256, prompt_version, index_version, model_id and adapter_id into meta."),
    "RW-W49": Code("no_context", "Outputs carry no context, or chunks without path or text, so no reference in them can be borne out.", "Store the retrieved chunks with every output, each with source_path and text."),
    "RW-W50": Code("thin_match", "Texts count as matching because a few characters of one stand in the other.", 'Set contained in the definition, e.g. contained = 0.25, or match = "exact" for closed lists.'),
    "RW-W52": Code("other_version", "The outputs name a version of the question set that is not the hash of this file.", "Check that they were made for these questions; name@sha256:HASH says it for certain."),
    "RW-W51": Code("gold_over_cap", "An expected list has more items than are looked at in an answer, so none can get full marks.", "Raise cap in the definition, or shorten the list."),
    "RW-W53": Code("noop_runs", "A jitter left the question as it was; such runs are no evidence of stability and were left out.", "Use jitters that change these questions, or paraphrases."),
    "RW-W54": Code("not_repeatable", "The very same question under the same seed was answered in different ways.", "Pin the model, its temperature and the order of ties; a seed that changes nothing shows nothing."),
    "RW-W55": Code("few_runs", "A question has fewer than two runs that count, so its stability cannot be seen.", "Ask every question under several seeds and jitters ('ragworthy experiment stability' does)."),
    "RW-W56": Code("uneven_runs", "Not every question was asked in the same variations.", "Ask every question under every seed, jitter and paraphrase; start a new file for each experiment."),
    "RW-W57": Code("mixed_configurations", "The runs come from several configurations, so changes between them count as instability.", "Score the runs of one configuration at a time."),
    "RW-W58": Code("judged_by_no_gate", "Answerable questions have a reference and no gold text, and no gate looks at references.", "Gate on answers.reference_f1 or answers.reference_details, or give these questions gold_claim_substr."),
    "RW-W60": Code("not_crossed", "Not every question met every configuration and load equally often, so the numbers of configurations do not compare.", "Ask every question the same number of times in each ('ragworthy experiment latency' does)."),
    "RW-W61": Code("runs_without_answers", "The runs hold no answers, so accuracy is not measured.", "Write answer_json and retrieved_ids into every run, or gate on latency alone."),
    "RW-W62": Code("repeated_header", "The header stands several times in a CSV file; the repetitions were skipped.", "Write it once, before the first run."),
    "RW-W63": Code("no_usage", "The cost of some runs is not known, so no cost is shown.", "Write usage into every run, and a price for every model."),
    "RW-W64": Code("over_budget", "Going on like this, the month will cost more than 110 % of its cap.", "Spend less, or raise the cap."),
    "RW-W65": Code("no_load", "Runs do not say under which load they were made.", "Write load_rps into every run: a pipeline that is fast alone may be slow under load."),
    "RW-W66": Code("repeated_runs", "The same run stands in the file several times; it was counted once.", "Write every run once."),
    "RW-W67": Code("rate_not_held", "Requests were sent more slowly than the load says, so the times are those of a lower load.", "Send on a fixed schedule whatever is still in flight ('ragworthy experiment latency' does), from a machine that can."),
    "RW-W38": Code("section_uncovered", "Few sections of the corpus are asked about.", "Spread the questions over the sections."),
    "RW-W70": Code("unpaired_votes", "Only one of the two validators voted on some answers; these are left out.", "Have both vote on the same answers."),
    "RW-W71": Code("label_conflict", "One validator sees a refusal where the other sees a sound answer, and it ends as VALID.", "Look at these answers: one of the two is wrong about what was said."),
    "RW-W72": Code("renamed_labels", "Labels of another program were taken as ours.", "INVALID counts as REJECT; write REJECT."),
    "RW-W73": Code("duplicate_votes", "Several votes are about the same answer; the last one counts.", "Write one vote an answer (and rater)."),
    "RW-W74": Code("few_raters", "Too few people voted for a release.", "Have at least three operators mark the same questions."),
    "RW-W75": Code("uneven_votes", "Not every rater voted on every item.", "Have all raters vote on the same items; Fleiss' kappa needs it."),
    "RW-W76": Code("escalation", "Somebody else has to look at this.", "The line says what is out of bounds."),
    "RW-W77": Code("mark_differs", "Operators marked records in another way than the marking rule does.", "Right snippet and a distance up to 0.45 is correct; from 0.60 on, or another snippet, it fails; in between somebody looks."),
    "RW-W79": Code("other_question", "A trace answers another question than the gold set asks under the same id.", "Run the pipeline over this gold set again, or score the traces against the gold set that they were made for."),
    "RW-W80": Code("unknown_wording", "A trace asks a wording that the gold question does not have.", "Add it to paraphrases, or run the wordings of this gold set."),
    "RW-W81": Code("gold_ids_unseen", "Gold ids occur in no trace.", "If the corpus was chunked again, bind the gold set to it: 'ragworthy gold bind' or 'ragworthy gold rebind'. With --corpus, ids that are merely never found are told from those that are gone."),
    "RW-W82": Code("ids_differ_in_form", "Ids that mean the same are written in different forms.", "Write the ids of the index in the gold set, in retrieved_ids and in citations alike."),
    "RW-W85": Code("evidence_elsewhere", "Evidence was found, but not just in the document, section or page that the gold set names.", "Correct gold_source, or look whether the right document is in the corpus."),
    "RW-W86": Code("ids_differ", "The gold ids of an item are not the chunks that hold its evidence; the evidence counts.", "The ids are from another chunking: 'ragworthy gold bind' writes those of today."),
    "RW-W87": Code("evidence_not_looked_up", "Items name evidence, but neither ids nor a corpus to find it in.", "Give the chunks with --corpus, or write the ids with 'ragworthy gold bind'."),
    "RW-W88": Code("text_only", "Answerable items name no evidence, so only their text is scored: containment and refusals.", "For precision, CHR, recall and hit say what the evidence is (gold_evidence), where it stands (gold_source) or which chunks hold it (gold_citations)."),
    "RW-W89": Code("gold_text_elsewhere", "The chunks that the gold ids of a question name hold none of its gold_claim_substr.", "If the corpus was cut again, the ids name other texts by now: say what the evidence is (gold_evidence). Otherwise look whether the pieces are what the documents say."),
    "RW-W78": Code("all_rejected", "Every pair of votes ends as REJECT, so the validators agree that nothing may ship.", "Look at the answers with the answers suite: agreement alone does not say that they are good."),
    "RW-W95": Code("sentences_as_pieces", "A gold_claim_substr entry is a whole sentence: no model repeats it word for word.", "Put the sentence into gold_reference, and keep in gold_claim_substr only the few words that must occur."),
    "RW-W90": Code("documents_judged", "The relevant ids of some questions are names of documents.", "Nothing, if documents are what you judge; write them as gold_source to say so."),
    "RW-W91": Code("evidence_unbound", "Some sources or evidence texts are in no chunk of the index; they count as not found.", "Correct them, or index the documents they come from; 'ragworthy gold lint --corpus INDEX' lists them all."),
    "RW-W92": Code("few_wordings", "Questions have fewer than three wordings.", "Nothing, unless you want convergence (λ, triplets): that takes three wordings under two seeds."),
    "RW-W93": Code("other_chunking", "Redirects lead the gold ids to blocks that are cut differently, and any part of a block counts as the block.", "Do not compare these numbers with those of the other chunking; gold_evidence, bound with 'ragworthy gold bind', measures both alike."),
}  # fmt: skip


class Problem(NamedTuple):
    """One thing to mend: where, what was expected, what was found."""

    code: str
    message: str
    where: str = ""
    field: str = ""

    def __str__(self) -> str:
        parts = [part for part in (self.where, self.field, self.message) if part]
        return visible(f"{': '.join(parts)} [{self.code}]")


class RagworthyError(Exception):
    """Something that stops the work and that a person can mend."""

    def __init__(
        self,
        problems: Iterable[Problem],
        total: int | None = None,
        advice: str = "",
        hint: Callable[[str], str] | None = None,
    ) -> None:
        """`hint` says what to do about a code, where the catalogue, which speaks of commands, does not fit."""
        self.problems = list(problems)
        self.advice = advice
        self._hint = hint or (lambda code: CATALOGUE[code].do)
        self.total = len(self.problems) if total is None else total
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """The problems, each with what to do the first time its code appears."""
        lines: list[str] = []
        seen: set[str] = set()
        for problem in self.problems[:MOST_PROBLEMS]:
            lines.append(str(problem))
            if problem.code not in seen:
                seen.add(problem.code)
                lines.append(f"  {CATALOGUE[problem.code].name}: {self._hint(problem.code)}")
        hidden = self.total - min(len(self.problems), MOST_PROBLEMS)
        if hidden > 0:
            lines.append(f"… and {hidden:,} more")
        if self.advice:
            lines += self.advice.split("\n")
        return lines


class DataError(RagworthyError):
    """An input file has to be mended."""


class PolicyError(RagworthyError):
    """The policy or the gates have to be mended."""


class UsageError(RagworthyError):
    """The command line or the call has to be mended."""


class MissingExtra(RagworthyError):
    """An optional part has to be installed."""


def data_error(code: str, message: str, *, where: str = "", field: str = "") -> DataError:
    """A DataError with one problem."""
    return DataError([Problem(code, message, where, field)])


def policy_error(code: str, message: str, *, where: str = "", field: str = "") -> PolicyError:
    """A PolicyError with one problem."""
    return PolicyError([Problem(code, message, where, field)])


def usage_error(message: str, *, code: str = "RW-U01") -> UsageError:
    """A UsageError with one problem."""
    return UsageError([Problem(code, message)])


def missing_extra(package: str, extra: str, needed_for: str) -> MissingExtra:
    """The error for a package that is not installed; without an extra it belongs to every installation.

    The line names the package and not `ragworthy[extra]`: that would ask an index for ragworthy, which is on none.
    """
    part_of = f" (extra: {extra})" if extra else ""
    return MissingExtra([Problem("RW-F15", f"{needed_for} needs {package}: pip install {package}{part_of}")])


def explained(error: Exception) -> tuple[str, str]:
    """What the decoder says of a small file, as field and message.

    >>> import msgspec
    >>> try: msgspec.json.decode(b'{"a": {"b": "x"}}', type=dict[str, dict[str, int]])
    ... except msgspec.ValidationError as error: explained(error)
    ('[...][...]', 'expected int, got str')
    """
    text = str(error).replace("`", "")
    reason, _, place = text.partition(" - at ")
    field = place.removeprefix("key in ").removeprefix("$").removeprefix(".")
    missing = reason.removeprefix("Object missing required field ")
    if missing != reason:
        return f"{field}.{missing}".removeprefix("."), "expected a value, got nothing"
    return field, reason if reason.startswith("JSON") else reason[:1].lower() + reason[1:]
