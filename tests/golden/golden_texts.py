"""The texts of the real model's golden file: own wording, many scripts, every awkward kind.

Texts of an exact length are prefixes of the passages; generate.py cuts them by token count.
"""

HARBOUR = """The harbour town had one clock, and it was always four minutes slow. Nobody minded. \
The fishermen left before it struck and came back after it had struck again, and the children had \
learned to run when the hand stood just short of eight. When the new schoolmaster arrived from the \
capital, carrying two watches and a barometer, he climbed the tower on his first evening and set \
the clock right. For a week everything went wrong: the bread was too dark, the ferry left without \
the doctor, and the bell rang in the middle of the mayor's speech. On the eighth day an old woman \
brought him a basket of plums and asked, very politely, whether he would consider giving the four \
minutes back. He did so the same night. Years later, when visitors laughed at the clock, he told \
them that it kept perfect time, only not theirs. He had written the difference into his notebook \
beside the air pressure and the height of the tide, and he added, in a smaller hand: a standard is \
an agreement, and this one was here before me. The barometer, on the other hand, he never allowed \
anyone to touch, and it hung by the door of the school until the roof was repaired, when somebody \
dropped it down the stairs. After that the town predicted its storms from the colour of the sea, \
as it had always done, and was wrong about as often as the instrument had been. The plums, they \
say, were excellent; the tree still stands behind the chapel, leaning away from the wind, and each \
autumn the school is closed for one afternoon so that everybody can pick."""

CACHE = """A cache is a promise that yesterday's answer is still good enough. The promise is cheap \
to make and expensive to break, so every cache needs three numbers: how long an entry may live, how \
many entries fit, and what it costs to be wrong. Teams usually choose the first by superstition, the \
second by the size of the machine, and the third not at all. When the invoice service began to show \
customers each other's addresses, the post-mortem found no bug in the code that anyone had changed. \
The key had been built from the order number alone; two regions had started to count orders from \
one; and the entries lived for an hour, which was long enough to be seen and short enough to be \
gone when somebody looked. The fix was eleven characters. The lesson took longer: a key must name \
everything that the answer depends on, and when that list is too long to write down, the answer is \
too complicated to cache."""

RUSSIAN = """Старый смотритель маяка каждое утро записывал погоду в толстую тетрадь. Он писал о \
ветре, о волнах и о птицах, которые прилетали с севера. Однажды корабль подошёл так близко, что \
можно было прочитать его имя. """

CHINESE = "春天来了，河边的柳树发出新芽，孩子们在桥上放风筝。老人坐在门前喝茶，慢慢地讲从前的故事。"

# Lengths in tokens, specials included: 8 and 16 are widths of vector registers, 64 a chunk of rows.
LENGTHS_FROM_HARBOUR = [8, 16, 17, 31, 33, 64, 65, 128, 255, 256]

# A word of more than 100 characters is [UNK] as a whole.
LONG_WORD = "Donaudampfschifffahrt" * 5

TEXTS = [
    # Blank: nothing but what the normaliser removes. Encoded as the special tokens alone.
    "",
    " \t\r\n ",
    "\u200b\u00ad\ufeff",
    # As short as can be.
    "a",
    ".",
    "\u00df",
    # Plain sentences, two of them close in meaning and one far away.
    "A man is repairing his bicycle in the yard.",
    "Someone fixes a bike outside the house.",
    "The central bank raised interest rates by a quarter of a point.",
    "Why does the cat that chased the dog look so pleased with itself?",
    "HE SHOUTED, BUT NOBODY IN THE VALLEY COULD HEAR HIM!",
    "She said: \u201cI can\u2019t\u2014no, I won\u2019t\u201d\u2026 and left.",
    # Numbers, code, addresses.
    "On 2024-02-29 at 07:45 the price rose 3.75% to \u20ac1,299.99 (was $1,253).",
    "for (int i = 0; i < n; ++i) { sum += x[i] * w[i]; }",
    "Write to ana.perez+news@example.org or see https://example.com/a/b?c=d&e=%20#f",
    "E = mc\u00b2, \u2211 x\u1d62 \u2264 \u221e, \u03b1\u03b2\u03b3 \u2208 \u211d\u207f",
    # Typed specials are the specials themselves.
    "first [SEP] second [MASK] third [UNK] [CLS]",
    # A NUL, controls, line ends and no-break spaces inside a text.
    "left\u0000right\u0007 one\r\ntwo\u00a0three\u2028four\u3000five",
    # Words that are one [UNK], split in many pieces, or joined by punctuation.
    LONG_WORD,
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "well-known/unknown_words... (don't) #hash @home *star*",
    # Accents, composed and decomposed; characters that fold or expand.
    "Crème brûlée, naïve façade, Ångström, coöperate",
    "Cre\u0300me bru\u0302le\u0301e, nai\u0308ve fac\u0327ade, A\u030angstro\u0308m",
    "Straße, GROSSE STRASSE, İstanbul, ıssız, ﬁne ﬂow, Ⅷ, ㎏, Ａｂｃ１２３",
    "Ｆｕｌｌ ｗｉｄｔｈ ａｎｄ ｈａｌｆ： ｶﾞｷﾞｸﾞ",
    # Latin scripts.
    "Der Zug nach Köln fährt heute von Gleis fünf ab, nicht von Gleis drei.",
    "Où est passée la clé que j'avais posée près de la fenêtre ?",
    "El niño soñó que volaba sobre montañas cubiertas de nieve.",
    "Zażółć gęślą jaźń: źdźbło trawy rosło przy drodze.",
    "Yarın sabah erkenden yola çıkıp öğleden önce köye varırız.",
    "Trời hôm nay đẹp quá, chúng ta đi dạo quanh hồ nhé.",
    "Þetta er stutt setning á íslensku um hafið og vindinn.",
    # Other alphabets.
    "Вчера вечером мы долго гуляли по набережной и говорили о книгах.",
    "Ці слова написані українською мовою, щоб перевірити ґ та ї.",
    "Η θάλασσα ήταν ήρεμη και το φως έπεφτε πάνω στα νησιά.",
    "הילדה קראה ספר ישן ליד החלון בזמן שירד גשם.",
    "جلس الرجل تحت الشجرة وقرأ الرسالة مرتين.",
    "کتاب\u200cها روی میز کنار پنجره مانده بودند.",
    "बच्चे नदी के किनारे पतंग उड़ा रहे थे।",
    "நேற்று மழை பெய்தது, இன்று வெயில் அடிக்கிறது.",
    "เมื่อวานฝนตกหนักมาก แต่วันนี้ท้องฟ้าแจ่มใส",
    "დილით მთებში თოვლი მოვიდა.",
    # Chinese, Japanese, Korean; a word order that changes the meaning.
    "吃饭没",
    "没吃饭",
    CHINESE,
    "昨日は友達と一緒に新しい喫茶店でコーヒーを飲みました。",
    "어제 저녁에는 가족과 함께 따뜻한 국수를 먹었습니다.",
    "混ぜた text with 中文 und Deutsch и русский 🙂",
    # Emoji: single, joined, with skin tone, flags.
    "😀",
    "The 👩‍👩‍👧‍👦 waved 👋🏽 at the 🇳🇿 team 🏆!!!",
]

# Cut at 256 tokens by the reference.
TRUNCATED_TEXTS = [
    HARBOUR,
    CACHE + " " + HARBOUR,
    RUSSIAN * 2,
    CHINESE * 8,
]
