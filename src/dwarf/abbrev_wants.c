/* SPDX-License-Identifier: MIT */
#include "dwarf/abbrev_wants.h"

#include "dwarf/constants.h"

#define BIT(want) (1u << (want))

static const uint32_t function_wants = BIT(CAIRN_DWARF_SIBLING) | BIT(CAIRN_DWARF_NAME) |
                                       BIT(CAIRN_DWARF_LINKAGE) | BIT(CAIRN_DWARF_LOW) |
                                       BIT(CAIRN_DWARF_HIGH) | BIT(CAIRN_DWARF_RANGES) |
                                       BIT(CAIRN_DWARF_ORIGIN) | BIT(CAIRN_DWARF_DECL_LINE) |
                                       BIT(CAIRN_DWARF_CALL_FILE) | BIT(CAIRN_DWARF_CALL_LINE);
static const uint32_t root_wants =
    BIT(CAIRN_DWARF_NAME) | BIT(CAIRN_DWARF_LOW) | BIT(CAIRN_DWARF_HIGH) | BIT(CAIRN_DWARF_RANGES) |
    BIT(CAIRN_DWARF_STMT_LIST) | BIT(CAIRN_DWARF_COMP_DIR) | BIT(CAIRN_DWARF_LANGUAGE) |
    BIT(CAIRN_DWARF_STR_BASE) | BIT(CAIRN_DWARF_ADDR_BASE) | BIT(CAIRN_DWARF_RNGLISTS_BASE) |
    BIT(CAIRN_DWARF_DWO_NAME) | BIT(CAIRN_DWARF_DWO_ID) | BIT(CAIRN_DWARF_RANGES_BASE);

uint8_t cairn_dwarf_kind_of(uint16_t tag, uint32_t *ret_wants)
{
    switch (tag) {
    case CAIRN_DW_TAG_SUBPROGRAM:
    case CAIRN_DW_TAG_INLINED_SUBROUTINE:
        *ret_wants = function_wants;
        return CAIRN_DWARF_FUNCTION;
    case CAIRN_DW_TAG_NAMESPACE:
    case CAIRN_DW_TAG_MODULE:
    case CAIRN_DW_TAG_CLASS_TYPE:
    case CAIRN_DW_TAG_STRUCTURE_TYPE:
    case CAIRN_DW_TAG_UNION_TYPE:
    case CAIRN_DW_TAG_INTERFACE_TYPE:
    case CAIRN_DW_TAG_ENUMERATION_TYPE:
        *ret_wants = BIT(CAIRN_DWARF_SIBLING) | BIT(CAIRN_DWARF_NAME) | BIT(CAIRN_DWARF_ORIGIN);
        return CAIRN_DWARF_SCOPE;
    case CAIRN_DW_TAG_ARRAY_TYPE:
    case CAIRN_DW_TAG_SUBROUTINE_TYPE:
    case CAIRN_DW_TAG_CALL_SITE:
    case CAIRN_DW_TAG_GNU_CALL_SITE:
    case CAIRN_DW_TAG_GNU_TEMPLATE_PARAMETER_PACK:
    case CAIRN_DW_TAG_GNU_FORMAL_PARAMETER_PACK:
        *ret_wants = BIT(CAIRN_DWARF_SIBLING);
        return CAIRN_DWARF_NO_CODE;
    case CAIRN_DW_TAG_COMPILE_UNIT:
    case CAIRN_DW_TAG_PARTIAL_UNIT:
    case CAIRN_DW_TAG_SKELETON_UNIT:
    case CAIRN_DW_TAG_TYPE_UNIT:
        *ret_wants = root_wants;
        return CAIRN_DWARF_OTHER;
    default:
        *ret_wants = 0;
        return CAIRN_DWARF_OTHER;
    }
}

const uint8_t cairn_dwarf_standard_wants[128] = {
    [CAIRN_DW_AT_NAME] = CAIRN_DWARF_NAME,
    [CAIRN_DW_AT_LINKAGE_NAME] = CAIRN_DWARF_LINKAGE,
    [CAIRN_DW_AT_LOW_PC] = CAIRN_DWARF_LOW,
    [CAIRN_DW_AT_HIGH_PC] = CAIRN_DWARF_HIGH,
    [CAIRN_DW_AT_RANGES] = CAIRN_DWARF_RANGES,
    [CAIRN_DW_AT_ABSTRACT_ORIGIN] = CAIRN_DWARF_ORIGIN,
    [CAIRN_DW_AT_SPECIFICATION] = CAIRN_DWARF_ORIGIN,
    [CAIRN_DW_AT_SIGNATURE] = CAIRN_DWARF_ORIGIN,
    [CAIRN_DW_AT_DECL_LINE] = CAIRN_DWARF_DECL_LINE,
    [CAIRN_DW_AT_CALL_FILE] = CAIRN_DWARF_CALL_FILE,
    [CAIRN_DW_AT_CALL_LINE] = CAIRN_DWARF_CALL_LINE,
    [CAIRN_DW_AT_STMT_LIST] = CAIRN_DWARF_STMT_LIST,
    [CAIRN_DW_AT_COMP_DIR] = CAIRN_DWARF_COMP_DIR,
    [CAIRN_DW_AT_LANGUAGE] = CAIRN_DWARF_LANGUAGE,
    [CAIRN_DW_AT_STR_OFFSETS_BASE] = CAIRN_DWARF_STR_BASE,
    [CAIRN_DW_AT_ADDR_BASE] = CAIRN_DWARF_ADDR_BASE,
    [CAIRN_DW_AT_RNGLISTS_BASE] = CAIRN_DWARF_RNGLISTS_BASE,
    [CAIRN_DW_AT_DWO_NAME] = CAIRN_DWARF_DWO_NAME,
};

uint8_t cairn_dwarf_want_of(uint64_t attribute)
{
    if (attribute < sizeof cairn_dwarf_standard_wants && cairn_dwarf_standard_wants[attribute])
        return cairn_dwarf_standard_wants[attribute];
    switch (attribute) {
    case CAIRN_DW_AT_SIBLING:
        return CAIRN_DWARF_SIBLING;
    case CAIRN_DW_AT_MIPS_LINKAGE_NAME:
        return CAIRN_DWARF_LINKAGE;
    case CAIRN_DW_AT_GNU_ADDR_BASE:
        return CAIRN_DWARF_ADDR_BASE;
    case CAIRN_DW_AT_GNU_DWO_NAME:
        return CAIRN_DWARF_DWO_NAME;
    case CAIRN_DW_AT_GNU_DWO_ID:
        return CAIRN_DWARF_DWO_ID;
    case CAIRN_DW_AT_GNU_RANGES_BASE:
        return CAIRN_DWARF_RANGES_BASE;
    default:
        return CAIRN_DWARF_NOTHING;
    }
}
